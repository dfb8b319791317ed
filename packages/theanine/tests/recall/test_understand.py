"""What a question asks for: a time, an order, several things, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest

import theanine
from theanine import History, Transcript, UserMemory, Utterance
from theanine.recall.understand import MAX_QUERY, cut_query

NOW = datetime(2025, 6, 20, 18, tzinfo=UTC)
DAYS = [
    date(2023, 7, 2),
    date(2024, 3, 18),
    date(2025, 5, 10),
    date(2025, 6, 17),
    date(2025, 6, 19),
]


@pytest.fixture(scope="module")
def ana(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UserMemory]:
    place = tmp_path_factory.mktemp("times") / "m.db"
    with theanine.open(str(place), clock=lambda: NOW) as client:
        user = client.user("ana", name="Ana")
        transcripts: list[Transcript] = []
        for number, day in enumerate(DAYS):
            at = datetime(day.year, day.month, day.day, 9, tzinfo=UTC)
            words = f"The {['heron', 'kettle', 'ladder', 'violin', 'bridge'][number]} was there."
            turns = [
                Utterance(text=words, speaker="Ana", at=at),
                Utterance(
                    text="I see.", speaker="A", role="assistant", at=at + timedelta(minutes=1)
                ),
            ]
            transcripts.append(Transcript(key=str(day), at=at, turns=turns))
        user.log(History(name="Ana", transcripts=transcripts))
        yield user


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("What did I say yesterday?", DAYS[4:]),
        ("What happened three days ago?", DAYS[3:4]),
        ("What did we talk about this week?", DAYS[3:]),
        ("What happened last month?", DAYS[2:3]),
        ("What happened in March 2024?", DAYS[1:2]),
        ("What did I tell you in 2023?", DAYS[:1]),
        ("What did we talk about last?", DAYS[4:]),
        ("Where did we leave off?", DAYS[4:]),
        ("What was the first thing I said?", DAYS[:1]),
        ("What happened on 18 June?", []),
        ("What did I say in April 2024?", []),
        ("What happened the day before yesterday?", []),
    ],
)
def test_a_time_alone(ana: UserMemory, question: str, days: list[date]) -> None:
    found = ana.recall(question)
    assert [*dict.fromkeys(turn.at.date() for turn in found.source_turns)] == days


def test_a_time_and_a_matter(ana: UserMemory) -> None:
    assert "heron" in ana.recall("What did the heron do in 2023?").text
    assert "heron" not in ana.recall("What did the heron do in 2025?").text


def test_a_document_is_cut_to_what_it_asks() -> None:
    prose = "The rope was too short for the pier, and nobody had painted the railing. "
    text = prose * 4_000 + "So: which number opens the safe?"
    assert cut_query(text) == "So: which number opens the safe?"
    assert len(cut_query(prose * 4_000)) <= MAX_QUERY + 5
    assert cut_query("Which number?") == "Which number?"
