"""Odd characters and times in what is said cost neither the words nor those beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from server.conftest import open_client

import theanine

NINE = datetime(2024, 5, 1, 9, tzinfo=UTC)
ODD = st.text(st.sampled_from("ab \0\ud83d\udc00é🛶"), min_size=1, max_size=6)


@pytest.fixture(params=["store", "service"])
def ana(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[theanine.UserMemory]:
    """The user of a store in this process, and of a service."""
    with open_client(request.param, str(tmp_path / "memory.db")) as client:
        yield client.user("ana")


def stored(text: str) -> str:
    """Return a text as the log has it."""
    whole = text.replace("\ud83d\udc00", "\N{RAT}")
    return re.sub("[\0\ud800-\udfff]", "\ufffd", whole)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[theanine.UserMemory]]:
    """Users for many examples, of a store and of a service."""
    folder = tmp_path_factory.mktemp("odd")
    with (
        open_client("store", str(folder / "a.db")) as here,
        open_client("service", str(folder / "b.db")) as there,
    ):
        yield [here.user("ana"), there.user("ana")]


@settings(max_examples=20)
@given(odd=ODD, number=st.integers(min_value=0))
def test_whatever_is_said_is_logged(
    shared: list[theanine.UserMemory], odd: str, number: int
) -> None:
    text = f"Tea {odd}."
    here, _ = shared
    for user in shared:
        user.recall(text)
        live = user.session(f"t{number}")
        before = len(user.turns(thread=f"t{number}"))
        heard, said = live.hear(text), live.say([{"type": "text", "text": text}])
        call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        tools: list[dict[str, Any]] = [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": text},
        ]
        report = live.add(tools)
        assert [heard.text, said.text, report.turns[-1].text] == [stored(text)] * 3
        # (a service is sent two halves as one character)
        assert report.repaired == (
            stored(text) != text if user is here else "\ufffd" in stored(text)
        )
        assert len(user.turns(thread=f"t{number}")) == before + 4
        assert stored(text) in str(live.messages())
        live.recall()


def test_a_late_turn_is_kept_and_shown_in_its_place(ana: theanine.UserMemory) -> None:
    live = ana.session("t")
    said = [("The ferry leaves at nine.", 2), ("And my cabin is 12.", 1), ("Thanks.", 3)]
    for text, second in said:
        live.hear(text, at=NINE + timedelta(seconds=second))
    assert [(turn.text, turn.at.second) for turn in ana.turns()] == said
    shown = [message["content"] for message in live.messages()]
    assert shown == ["And my cabin is 12.", "The ferry leaves at nine.", "Thanks."]
    live.end()
    [ended] = ana.sessions()
    assert ended.ended_at == NINE + timedelta(seconds=3)
    assert "cabin is 12" in ana.recall("Which cabin is mine?").text


def test_names_are_refused(ana: theanine.UserMemory) -> None:
    for odd in ("a\0b", "a\ud83d"):
        with pytest.raises(theanine.TheanineError, match=r"NUL|surrogate"):
            ana.session(odd).hear("Hello.")
        with pytest.raises(theanine.TheanineError, match=r"NUL|surrogate"):
            ana.session("t").hear("Hello.", id=odd)
    assert ana.turns() == []


@settings(max_examples=10)
@given(odd=ODD, number=st.integers(min_value=0))
def test_plain_texts_and_contents_can_be_sent_on(
    shared: list[theanine.UserMemory], odd: str, number: int
) -> None:
    """A single text is repaired like a list of messages, and so are parts and calls of tools."""
    arguments = json.dumps({"x": odd})
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": odd}, {"type": "odd", "of": [odd]}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": f"Done {odd}"},
    ]
    for user in shared:
        added = user.add(f"Jar {odd} figs", session=f"p{number}")
        assert [turn.text for turn in added.turns] == [f"Jar {stored(odd)} figs"]
        user.add(messages, session=f"p{number}")
        for form in ("openai", "anthropic", "responses"):
            sent = user.session(f"p{number}").messages(form)
            assert json.dumps(sent, ensure_ascii=False).encode()
