"""Recall of the default method from the log: open sessions, time bounds, limits, repetitions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import theanine
from theanine.errors import SettingsError
from theanine.tokenizer import count_tokens
from theanine.types import History, Transcript, Utterance

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
    assert "said 8 times, last on 19 April 2026" in recollection.text
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
