"""Recall of the default method from the log: open sessions, time bounds, limits, repetitions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine.demo import HARBOUR
from theanine.errors import SettingsError
from theanine.importers import read_histories
from theanine.llm.base import RawReply
from theanine.testing import ScriptedModel, answer
from theanine.tokenizer import count_tokens
from theanine.types import (
    History,
    ImportedMemory,
    Link,
    Memory,
    Relation,
    Role,
    Transcript,
    Utterance,
)

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
STATEMENTS = (
    "I have diabetes.",
    "I'm vegan.",
    "The car is a red Skoda.",
    "Call me Sam.",
    "My sister Eva lives in Lisbon.",
)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[theanine.Client]:
    with theanine.open(str(tmp_path / "memory.db")) as client:
        yield client


def log(client: theanine.Client, *sessions: tuple[str, ...], user: str = "ana") -> None:
    """Log one session a week, each with a turn a minute."""
    transcripts = [
        Transcript(
            key=f"s{week}",
            at=START + timedelta(weeks=week),
            turns=tuple(
                Utterance(text=text, speaker=user, at=START + timedelta(weeks=week, minutes=minute))
                for minute, text in enumerate(texts)
            ),
        )
        for week, texts in enumerate(sessions)
    ]
    client.user(user).log(History(name=user, transcripts=tuple(transcripts)))


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("Does Ana have an illness such as diabetes?", STATEMENTS[0]),
        ("Is she vegan?", STATEMENTS[1]),
        ("Which car does she drive?", STATEMENTS[2]),
        ("Who is called Sam?", STATEMENTS[3]),
        ("Where does Eva live?", STATEMENTS[4]),
    ],
)
def test_an_open_session_is_searched(
    client: theanine.Client, question: str, statement: str
) -> None:
    session = client.user("ana").session()
    for text in STATEMENTS:
        session.hear(text)
    assert statement in client.user("ana").recall(question, budget=40).text


def test_another_process_finds_a_turn_as_soon_as_it_is_logged(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with theanine.open(path) as writer, theanine.open(path) as reader:
        session = writer.user("ana").session()
        session.hear("I keep three goats.")
        assert "goats" in reader.user("ana").recall("What animals are there?").text
        session.hear("I sold the goats and bought a llama.")
        assert "llama" in reader.user("ana").recall("What animals are there?").text


def test_the_current_dialogue_is_not_recalled(client: theanine.Client) -> None:
    session = client.user("ana").session()
    session.hear("Shall we book the cruise?")
    assert not session.recall()


@pytest.mark.parametrize("budget", [0, 20, 60, 200])
def test_the_text_fits_the_budget(client: theanine.Client, budget: int) -> None:
    log(client, STATEMENTS, tuple(f"Goat number {n} is called Bella." for n in range(30)))
    recollection = client.user("ana").recall("Which goats are there?", budget=budget)
    assert count_tokens(recollection.text) <= budget


def test_what_is_said_again_is_returned_once(client: theanine.Client) -> None:
    log(client, *[("I'm allergic to nuts.",)] * 8)
    recollection = client.user("ana").recall("Any allergies?")
    assert recollection.text.count("allergic") == 1
    assert "said 8 times, " in recollection.text
    assert "19 April 2026" in recollection.text
    assert len(recollection.source_turns) == 8


def test_a_long_turn_is_quoted_in_part(client: theanine.Client) -> None:
    filler = "The weather was mild and the ferry left late as always that morning. " * 20
    log(client, (f"{filler}My locker code is 4711. {filler}",))
    recollection = client.user("ana").recall("What is the locker code?", budget=150)
    assert "4711" in recollection.text
    assert "…" in recollection.text


def test_limit_counts_parts(client: theanine.Client) -> None:
    log(client, *[(f"Goat number {n} is called Bella {n}.",) for n in range(9)])
    assert len(client.user("ana").recall("Which goats are there?", limit=2).parts) == 2


def test_time_bounds(client: theanine.Client) -> None:
    log(client, ("I live in Lisbon.",), ("I live in Porto now.",), ("I live in Faro now.",))
    memory = client.user("ana")
    question = "Where does she live?"
    assert "Porto" not in memory.recall(question, as_of=date(2026, 3, 2)).text
    assert "Lisbon" not in memory.recall(question, since=START + timedelta(days=1)).text
    bounded = memory.recall(question, since=date(2026, 3, 8), until=date(2026, 3, 8))
    assert [turn.text for turn in bounded.source_turns] == ["I live in Porto now."]
    assert not memory.recall(question, until=START - timedelta(days=1))


def test_min_relevance_cuts(client: theanine.Client) -> None:
    log(client, STATEMENTS)
    memory = client.user("ana")
    everything = memory.recall("Where does Eva live?")
    relevance = [part.relevance for part in everything.parts]
    assert all(value is not None and 0 <= value <= 1 for value in relevance)
    assert not memory.recall("Where does Eva live?", min_relevance=1.0)


@pytest.mark.parametrize(
    "options",
    [
        {"budget": -1},
        {"limit": 0},
        {"min_relevance": 1.5},
        {"since": datetime(2026, 3, 1)},
    ],
)
def test_options_out_of_range_are_refused(client: theanine.Client, options: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        client.user("ana").recall("Anything?", **options)


def test_the_user_s_own_words_come_before_the_assistant_s_echo(client: theanine.Client) -> None:
    original = "I keep the spare key under the blue flowerpot."
    echo = "You told me that you keep the spare key under the blue flowerpot."
    longer = f"{echo} Shall I remind you to move it before the winter storms arrive?"
    turns: list[tuple[str, Role]] = [
        (original, "user"),
        (echo, "assistant"),
        (longer, "assistant"),
    ]
    transcripts = [
        Transcript(
            key=f"s{week}",
            at=START + timedelta(weeks=week),
            turns=(
                Utterance(text=text, speaker=role, role=role, at=START + timedelta(weeks=week)),
            ),
        )
        for week, (text, role) in enumerate(turns)
    ]
    client.user("ana").log(History(name="ana", transcripts=transcripts))
    recollection = client.user("ana").recall("Where do you keep the spare key?")
    assert echo not in [turn.text for turn in recollection.source_turns]
    own = next(part for part in recollection.parts if original in part.text)
    assert own.score == max(part.score for part in recollection.parts)
    within = client.user("ana").recall("Where do you keep the spare key?", budget=32)
    assert [turn.text for turn in within.source_turns] == [original]


def test_replies_without_a_model_are_not_recalled(client: theanine.Client) -> None:
    with client.user("ana").session() as session:
        session.hear("I keep the spare key under the blue flowerpot.")
        session.reply()
        session.hear("Where is the spare key?")
        assert "flowerpot" not in session.reply().text  # it is in this dialogue
    turns = client.user("ana").recall("Where is the spare key?").source_turns
    assert [turn.role for turn in turns] == ["user"] * len(turns)


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        ("As I said, I'm allergic to nuts.", True),
        ("I am allergic to nuts!", True),
        ("I'm not allergic to nuts.", False),
        ("I was allergic to nuts.", False),
        ("Am I allergic to nuts?", False),
        ("I'm allergic to nuts and soy.", False),
    ],
)
def test_near_repetitions_are_one_line(
    client: theanine.Client, text: str, *, repeats: bool
) -> None:
    log(client, ("I'm allergic to nuts.",), (text,))
    recollection = client.user("ana").recall("Allergic to nuts?")
    assert ("said 2 times" in recollection.text) is repeats
    assert len(recollection.source_turns) == 2


@pytest.mark.parametrize("files", [("a.jpg", ""), ("", "a.jpg")])
@pytest.mark.parametrize("towns", [0, 12])  # twelve make a turn of several passages
def test_the_same_words_with_and_without_a_file_are_one_line(
    client: theanine.Client, files: tuple[str, str], towns: int
) -> None:
    words = "I met Carla at the dealer's, and we no longer want a van: we bought a blue Skoda."
    words += "".join(f" She told us about town {n}, which we liked." for n in range(towns))
    sessions = [
        Transcript(
            key=str(at),
            at=at,
            turns=[Utterance(text=words, speaker="ana", at=at, attachment=file)],
        )
        for at, file in zip((START, START + timedelta(weeks=1)), files, strict=True)
    ]
    ana = client.user("ana")
    ana.log(History(name="ana", transcripts=sessions))
    ana.remember()
    found = ana.recall("Which car do we have?")
    assert len(found.source_turns) == 2
    assert "said 2 times" in found.text
    assert "this changed" not in found.text
    assert found.text.count("blue Skoda") == 1


def test_a_route_and_the_way_back_are_not_the_same(client: theanine.Client) -> None:
    log(client, ("I moved from Lisbon to Porto.",), ("I moved from Porto to Lisbon.",))
    assert "said 2 times" not in client.user("ana").recall("Moved from where to where?").text


def test_a_change_comes_with_what_it_was(client: theanine.Client) -> None:
    memory = client.user("ana")
    memory.log(read_histories(HARBOUR).histories[0])
    memory.remember()
    link = next(link for link in memory.links() if link.relation is Relation.CHANGED)
    older, newer = (memory.turns(ids=[m.source_turns[0]])[0] for m in both(memory, link))
    for asked in (older, newer):
        recollection = memory.recall(asked.text, budget=400)
        part = next(part for part in recollection.parts if newer in part.source_turns)
        assert older in part.source_turns
        assert part.text.index(newer.text) < part.text.index(older.text)
    before = memory.recall(older.text, as_of=newer.at - timedelta(days=1), budget=400)
    assert older in before.source_turns
    assert newer not in before.source_turns
    assert all(link not in timeline.links for timeline in before.timelines)


def test_what_holds_stands_before_what_it_was(client: theanine.Client) -> None:
    log(
        client,
        ("I work as a nurse.", "My cat Pixel is afraid of thunder.", "I live in Graz."),
        (
            "I moved from Graz to Linz.",
            "Pixel isn't afraid of thunder any more since the training.",
            "We fought about the rent.",
        ),
        ("I moved from Linz to Vienna.",),
    )
    ana = client.user("ana")
    ana.remember()
    question = "Is Pixel afraid of thunder, and where do I live?"
    text = ana.recall(question).text
    for told in (
        [
            "-- 8 March 2026",
            "ana: Pixel isn't afraid of thunder any more since the training.",
            "-- 1 March 2026",
            "ana: My cat Pixel is afraid of thunder. (until 8 March 2026)",
        ],
        [
            "-- 15 March 2026",
            "ana: I moved from Linz to Vienna.",
            "-- 8 March 2026",
            "ana: I moved from Graz to Linz. (until 15 March 2026)",
            "-- 1 March 2026",
            "ana: I live in Graz. (until 8 March 2026)",
        ],
    ):
        assert "\n".join(told) in text
    for budget in (30, 60, 90, 120, 150):
        assert count_tokens(ana.recall(question, budget=budget).text) <= budget


def both(memory: theanine.UserMemory, link: Link) -> list[Memory]:
    return [one for one in memory.memories() if one.id in (link.older, link.newer)]


def test_a_question_of_function_words_is_never_left_empty(client: theanine.Client) -> None:
    log(client, STATEMENTS)
    assert client.user("ana").recall("Where is it?")


@pytest.mark.parametrize(
    "words",
    ["thanks!", "ok", "How are you, Ana?", "🎉", "Ja, danke!", "gracias", "好的，谢谢", "はい"],
)
def test_small_talk_recalls_nothing(client: theanine.Client, words: str) -> None:
    log(client, STATEMENTS)
    ana = client.user("ana")
    assert not ana.recall(words)
    assert ana.recall(words, min_relevance=0)


@pytest.mark.parametrize("words", ["Thanks! And where is it?", "OK, the Skoda?", "Yes, in Lisbon."])
def test_small_talk_before_a_subject_recalls(client: theanine.Client, words: str) -> None:
    log(client, STATEMENTS)
    assert client.user("ana").recall(words)


def test_a_recall_asks_no_model(tmp_path: Path) -> None:
    model = ScriptedModel(
        lambda prompt: answer({"messages": [{"role": "user", "content": prompt}]})
    )
    with theanine.open(str(tmp_path / "memory.db"), model=model) as client:
        log(
            client,
            ("I bought a sailing boat in Rijeka.",),
            ("I sold the sailing boat from Rijeka because its engine died.",),
        )
        ana = client.user("ana")
        ana.remember()
        asked = len(model.prompts)
        recollection = ana.recall("What of the sailing boat?")
    (part,) = [part for part in recollection.parts if part.timeline]
    assert part.made_by == "local"
    assert "bought a sailing boat" in part.text and "its engine died" in part.text
    assert len(model.prompts) == asked > 0


@pytest.mark.parametrize(
    "text",
    [
        '{"statements":[{"text":"Ana is aller',
        '{"statements": [{"text": "Ana sails.", "speakers": ["ana"], "turns": [1]}, {"text": "A',
        "",
    ],
)
def test_a_cut_off_summary_is_a_failure_that_pending_shows(text: str, tmp_path: Path) -> None:
    model = ScriptedModel(RawReply(text=text, finish="length"))
    with theanine.open(str(tmp_path / "memory.db"), model=model) as client:
        log(client, ("I sail.",))
        (report,) = client.user("ana").remember()
        assert report.memories == 0 and report.failure
        (pending,) = client.user("ana").pending()
        assert pending.failure == report.failure


def test_a_statement_that_looks_like_a_day_is_not_taken_for_one(client: theanine.Client) -> None:
    memories = (ImportedMemory(text="-- 9 May 2023 they sold the boat Bella", speakers=("ana",)),)
    transcript = Transcript(key="s", at=START, turns=(), memories=memories)
    client.user("ana").log(History(name="ana", transcripts=(transcript,)))
    client.remember()
    text = client.user("ana").recall("Who sold the boat Bella?").text
    assert text == "-- 1 March 2026\n– 9 May 2023 they sold the boat Bella"


def test_the_end_of_a_chain_of_changes_comes_with_an_older_state(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    with theanine.open(str(store)) as client:
        log(
            client,
            ("I play the harpsichord in the Brestova consort.",),
            ("Three rooms near the Danube, and the kitchen faces a chestnut tree.",),
            ("Eva counts herons on Fridays, and my knees have begun to forgive the stairs.",),
            *((f"Our harpsichord in hall {n} needed {n} strings.",) for n in range(2, 8)),
        )
        client.user("ana").remember()
    with sqlite3.connect(store) as rows:  # as a model judges them, which no wording tells
        for older, newer in ((1, 2), (2, 3)):
            link = (1, newer, older, "theanine", "Changed", "", 0.5, "a-model", "relate@2")
            rows.execute("insert into link values (?, ?, ?, ?, ?, ?, ?, ?, ?)", link)
    with theanine.open(str(store)) as client:
        recollection = client.user("ana").recall("Do I play in the Brestova consort?", limit=1)
        [part] = recollection.parts
        assert part.text.index("herons") < part.text.index("Brestova")
