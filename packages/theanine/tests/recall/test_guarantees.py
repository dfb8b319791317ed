"""What no setting of a recall breaks, on generated memories and questions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theanine
from theanine import History, Transcript, UserMemory, Utterance

START = datetime(2025, 1, 6, 10, tzinfo=UTC)
SUBJECTS = (
    "The harbor crane lifted {n} crates of lemons before lunch.",
    "Our choir rehearses on the {n}th floor of the old post office.",
    "I planted {n} tulip bulbs along the garden fence.",
    "The night train to Graz has {n} sleeping cars.",
    "My aunt keeps {n} beehives behind the chapel.",
    "The bakery sold {n} poppy seed rolls today.",
    "We watched {n} herons on the river with the binoculars.",
    "The museum lends {n} lutes to the conservatory.",
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "limit": st.integers(1, 5),
        "budget": st.integers(0, 300),
        "min_relevance": st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9]),
    },
)


def statement(number: int) -> str:
    """Return one of many unlike statements."""
    return SUBJECTS[number % len(SUBJECTS)].format(n=number + 2)


def log_of(user: UserMemory, texts: list[str], *, days: int = 3) -> None:
    """Log each text in a session of its own, some days after the last."""
    transcripts = [
        Transcript(
            key=str(number),
            at=START + timedelta(days=days * number),
            turns=[Utterance(text=text, speaker="Ana", at=START + timedelta(days=days * number))],
        )
        for number, text in enumerate(texts)
    ]
    user.log(History(name="Ana", transcripts=transcripts))


@pytest.fixture(scope="module")
def corrected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UserMemory]:
    """A memory in which one statement was corrected."""
    place = tmp_path_factory.mktemp("corrected") / "m.db"
    with theanine.open(str(place), clock=lambda: START + timedelta(days=200)) as client:
        user = client.user("ana", name="Ana")
        log_of(user, ["The boat is moored at berth 12.", *map(statement, range(16))])
        user.remember()
        old = next(memory for memory in user.memories() if "berth 12" in memory.text)
        user.correct(old.id, "The boat is moored at berth 31.")
        yield user


@settings(max_examples=60, deadline=None)
@given(
    question=st.sampled_from(
        ["Where is the boat moored?", "berth 12", "the boat", "What about berth 31?", "herons"]
    ),
    options=OPTIONS,
)
def test_what_was_corrected_never_comes_without_its_correction(
    corrected: UserMemory, question: str, options: dict[str, float]
) -> None:
    text = corrected.recall(question, **options).text  # type: ignore[arg-type]
    if "berth 12" in text:
        assert "berth 31" in text
        assert text.index("berth 31") < text.index("berth 12")


@pytest.fixture(scope="module")
def diary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UserMemory]:
    """A memory of one statement every third day."""
    place = tmp_path_factory.mktemp("diary") / "m.db"
    now = START + timedelta(days=3 * 23, hours=9)
    with theanine.open(str(place), clock=lambda: now) as client:
        user = client.user("ana", name="Ana")
        log_of(user, [statement(number) for number in range(24)])
        user.remember()
        yield user


@settings(max_examples=60, deadline=None)
@given(
    day=st.integers(0, 80),
    question=st.sampled_from(["tulip bulbs", "How many herons did we watch?", "the night train"]),
    options=OPTIONS,
)
def test_nothing_later_than_as_of_is_shown(
    diary: UserMemory, day: int, question: str, options: dict[str, float]
) -> None:
    as_of = START + timedelta(days=day, hours=1)
    found = diary.recall(question, as_of=as_of, **options)  # type: ignore[arg-type]
    assert all(turn.at <= as_of for turn in found.source_turns)


@settings(max_examples=60, deadline=None)
@given(day=st.integers(0, 69), form=st.integers(0, 3))
def test_a_time_alone_returns_that_time_or_nothing(diary: UserMemory, day: int, form: int) -> None:
    asked = (START + timedelta(days=day)).date()
    phrase = (
        f"on {asked.day} {asked:%B} {asked.year}",
        f"on {asked.isoformat()}",
        f"on {asked:%B} {asked.day}, {asked.year}",
        f"on the {asked.day}th of {asked:%B} {asked.year}",
    )[form]
    found = diary.recall(f"What did I say {phrase}?")
    assert [turn.at.date() for turn in found.source_turns] == [asked] * (day % 3 == 0)


@settings(max_examples=40, deadline=None)
@given(number=st.integers(0, 23), limit=st.integers(1, 6), floor=st.sampled_from([0.0, 0.05, 0.3]))
def test_limit_keeps_the_most_relevant_parts(
    diary: UserMemory, number: int, limit: int, floor: float
) -> None:
    question = f"Is it so that {statement(number)[0].lower()}{statement(number)[1:-1]}?"
    all_parts = diary.recall(question, min_relevance=floor).parts
    kept = diary.recall(question, min_relevance=floor, limit=limit).parts
    best = sorted((part.relevance or 0 for part in all_parts), reverse=True)[:limit]
    assert sorted((part.relevance or 0 for part in kept), reverse=True) == best
    assert all(part.relevance is not None and part.relevance >= floor for part in kept)


FILLER = (
    "In the meeting the plan for the quarter was read aloud and nobody had any questions about it. "
    "The weather stayed mild, with some clouds in the afternoon and a light wind from the west. "
    "Several people asked whether the door of the archive could be painted in another color. "
)


@pytest.mark.parametrize("size", [10_000, 90_000, 300_000])
@pytest.mark.parametrize("place", [0.05, 0.5, 0.95])
def test_padding_a_text_does_not_hide_a_verbatim_answer(
    tmp_path: Path, size: int, place: float
) -> None:
    fact = "The spare key of the boathouse lies under the third flower pot."
    filler = FILLER * (size // len(FILLER) + 1)
    at = filler.index(". ", int(size * place)) + 2
    text = filler[:at] + fact + " " + filler[at:size]
    with theanine.open(str(tmp_path / "m.db")) as client:
        user = client.user("ana", name="Ana")
        log_of(user, [text])
        found = user.recall("Where does the spare key of the boathouse lie?")
    assert "third flower pot" in found.text
    assert found.best_relevance is not None
    assert found.best_relevance >= 0.3


@pytest.mark.parametrize("turns", [100, 3_000])
def test_padding_a_log_does_not_hide_a_verbatim_answer(tmp_path: Path, turns: int) -> None:
    random = Random(turns)
    texts = [
        f"{random.choice(FILLER.split('. '))} {random.choice(SUBJECTS).format(n=number)}"
        for number in range(turns)
    ]
    texts.insert(turns // 3, "The spare key of the boathouse lies under the third flower pot.")
    with theanine.open(str(tmp_path / "m.db")) as client:
        user = client.user("ana", name="Ana")
        log_of(user, texts, days=1)
        found = user.recall("Where does the spare key of the boathouse lie?")
    assert "third flower pot" in found.text
    assert found.best_relevance is not None
    assert found.best_relevance >= 0.3


@pytest.mark.parametrize("code", ["OPS-1417", "SKU-7710-K", "LH1735", "B2.14"])
def test_what_names_the_very_code_is_relevant(code: str, tmp_path: Path) -> None:
    with theanine.open(tmp_path / "m.db", clock=lambda: START + timedelta(days=90)) as client:
        ana = client.user("ana")
        log_of(ana, [*map(statement, range(8)), f"The matter {code} waits for the firewall."])
        found = ana.recall(f"What is the state of {code}?")
        best = max(found.parts, key=lambda part: part.relevance or 0)
        assert code in best.text
        assert best.relevance is not None and best.relevance > 0.5
