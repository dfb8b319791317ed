"""Conversations of helpdesks, as the APIs of these return them."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.chat_exports import WRITERS, Said
from support.history_samples import Json, save
from support.rich_exports import RICH
from theanine.importers import ImportedHistories, read_histories

HELPDESKS = ["intercom", "zendesk", "freshdesk", "help-scout"]


def said(reading: ImportedHistories) -> list[tuple[str, str]]:
    return [
        (turn.speaker, turn.text)
        for history in reading.histories
        for session in history.transcripts
        for turn in session.turns
    ]


@pytest.mark.parametrize("name", HELPDESKS)
def test_a_conversation_is_one_session_with_its_subject(name: str, tmp_path: Path) -> None:
    talk = [
        Said("It is lost."),
        Said("At the door.", "assistant", 9_000),
        Said("Found.", "user", 20_000),
    ]
    reading = read_histories(WRITERS[name](tmp_path, talk))
    (session,) = reading.histories[0].transcripts
    assert [turn.text for turn in session.turns] == [each.text for each in talk]
    assert len({turn.speaker for turn in session.turns}) == 2
    title = (
        read_histories(save(tmp_path, "rich.json", RICH[name].value)).histories[0].transcripts[0]
    )
    assert "parcel" in str(title.metadata["title"])
    assert title.turns[0].speaker == "Olu Adeyemi"


@pytest.mark.parametrize("name", HELPDESKS)
@pytest.mark.parametrize("field", ["conversations", "tickets", "results"])
def test_a_list_of_conversations(name: str, field: str, tmp_path: Path) -> None:
    value = RICH[name].value
    talks = [{**value, "id": id} for id in (1, 2)] if isinstance(value, dict) else []
    reading = read_histories(save(tmp_path, "page.json", {field: talks, "count": 2}))
    assert reading.format == name
    assert [len(history.transcripts) for history in reading.histories] == [2]


def part(kind: str, body: str | None, **fields: object) -> Json:
    author: Json = {"type": "admin", "name": "Marta"}
    return {"part_type": kind, "body": body, "author": author, "created_at": 1715630650, **fields}


def test_events_of_intercom_have_no_words_and_its_bots_are_assistants(tmp_path: Path) -> None:
    parts = [
        part("assignment", None),
        part(
            "conversation_attribute_updated_by_admin",
            None,
            event_details={"value": {"name": "High priority"}},
        ),
        part("comment", "<p>I can help.</p>", author={"type": "bot", "name": "Fin"}),
        part("assignment", "<p>Over to you.</p>"),
        part("note", "<p>Ask the driver.</p>"),
    ]
    talk: Json = {
        "id": "1",
        "created_at": 1715630000,
        "conversation_parts": {"conversation_parts": parts},
    }
    talk["source"] = {"delivered_as": "automated", "body": "", "author": {"type": "bot"}}
    reading = read_histories(save(tmp_path, "c.json", talk))
    assert said(reading) == [
        ("Fin", "I can help."),
        ("Marta", "Over to you."),
        ("Marta", "Ask the driver."),
    ]
    turns = reading.histories[0].transcripts[0].turns
    assert [turn.role for turn in turns] == ["assistant", "user", "user"]
    assert reading.notes == {"empty messages left out": 1, "service messages left out": 1}


def test_a_page_of_zendesk_names_people_beside_the_comments(tmp_path: Path) -> None:
    comments: list[Json] = [
        {"id": i, "author_id": i, "body": f"Words of {i}.", "created_at": "2024-05-13T19:56:00Z"}
        for i in (1, 2)
    ]
    page: Json = {"comments": comments, "users": [{"id": 1, "name": "Olu"}], "count": 2}
    reading = read_histories(save(tmp_path, "comments.json", page))
    assert said(reading) == [("Olu", "Words of 1."), ("2", "Words of 2.")]


def test_drafts_and_events_of_help_scout_are_left_out(tmp_path: Path) -> None:
    olu: Json = {"createdBy": {"first": "Olu", "last": "Adeyemi"}}
    threads: list[Json] = [
        {"type": kind, "state": state, "body": body, "createdAt": "2024-05-13T19:56:00Z", **olu}
        for kind, state, body in (
            ("lineitem", "published", None),
            ("message", "draft", "Not yet."),
            ("customer", "published", "It is<br>lost."),
        )
    ]
    talk: Json = {"id": 1, "subject": "Parcel", "_embedded": {"threads": threads}}
    reading = read_histories(save(tmp_path, "c.json", talk))
    assert said(reading) == [("Olu Adeyemi", "It is\nlost.")]
    assert reading.notes == {"drafts left out": 1, "service messages left out": 1}
