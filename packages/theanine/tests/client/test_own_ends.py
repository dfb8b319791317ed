"""What ends by itself: ``expires`` and ``verify_by``, at every time and with every method."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theanine
from theanine.errors import BadInput, SettingsError
from theanine.methods.registry import names
from theanine.tokenizer import count_tokens
from theanine.types import History, ImportedMemory, Transcript, Utterance

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
METHODS = sorted({*names()} - {"no-memory", "full-history"})
NOTE = "unverified since"
MARKS = (NOTE, "To be verified", "(until ")
"""What says that a part, a line of a profile or what a later line replaces may not hold now."""
TOWNS = ("Zadar", "Graz", "Porto", "Gdansk", "Bergen", "Leuven", "Turku", "Malaga")


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> datetime:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(tmp_path: Path, clock: Clock) -> Iterator[theanine.Client]:
    with theanine.open(str(tmp_path / "m.db"), clock=clock) as client:
        yield client
        assert client.check() == ""


def files_have(folder: Path, words: str) -> bool:
    return any(words.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


ENDS = st.lists(
    st.tuples(st.none() | st.integers(1, 8), st.none() | st.integers(1, 8)), min_size=1, max_size=8
)
"""For each fact, the days after which it expires and is to be verified."""


def after(days: int | None) -> datetime | None:
    return None if days is None else START + days * DAY


def tell(user: theanine.UserMemory, ends: Sequence[tuple[int | None, int | None]]) -> list[str]:
    """Log a fact a town; return what they say."""
    facts = [f"I keep a sailing boat in the harbor of {town}." for town in TOWNS[: len(ends)]]
    for fact, (expires, verify_by) in zip(facts, ends, strict=True):
        user.add(
            fact,
            at=START,
            expires=after(expires),
            verify_by=after(verify_by),
        )
    return facts


def shown(user: theanine.UserMemory, **options: Any) -> str:
    """Return all that is shown of a user, but for the words of recollections."""
    found = [*user.turns(), *user.memories(), *user.search("a boat in the harbor", **options)]
    return "\n".join(map(str, [*found, *user.timelines(), user.profile().text]))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@given(ends=ENDS, days=st.sets(st.integers(0, 9), min_size=1, max_size=3), ahead=st.integers(-3, 3))
@settings(max_examples=6, deadline=None)
def test_past_its_end_nothing_is_current_at_any_time(
    method: str, ends: list[tuple[int | None, int | None]], days: set[int], ahead: int
) -> None:
    clock = Clock()
    with (
        TemporaryDirectory() as folder,
        theanine.open(f"{folder}/m.db", clock=clock, method=method) as client,
    ):
        ana = client.user("ana")
        tell(ana, ends)
        for day in sorted(days):
            clock.time = START + day * DAY
            for as_of in (None, clock.time + ahead * DAY):
                present = as_of or clock.time
                found = ana.recall("Where do I keep a boat?", as_of=as_of, profile=True)
                for town, (expires, verify_by) in zip(TOWNS, ends, strict=False):
                    lines = [line for line in found.text.split("\n") if town in line]
                    if expires and START + expires * DAY <= max(clock.time, present):
                        assert not lines
                        if as_of is None:
                            assert town not in shown(ana)
                    elif verify_by and START + verify_by * DAY <= present:
                        parts = [part.text for part in found.parts if town in part.text]
                        assert all(any(mark in text for mark in MARKS) for text in parts)
                    elif len(ends) == 1:
                        assert NOTE not in found.text
            due = {turn.text for turn in ana.turns(due=True)}
            assert due == {
                f"I keep a sailing boat in the harbor of {town}."
                for town, (expires, verify_by) in zip(TOWNS, ends, strict=False)
                if verify_by and verify_by <= day and not (expires and expires <= day)
            }


@pytest.mark.slow
@given(ends=ENDS, day=st.integers(0, 9), method=st.sampled_from(METHODS))
@settings(max_examples=25, deadline=None)
def test_what_has_expired_leaves_no_word_and_takes_nothing_else_along(
    ends: list[tuple[int | None, int | None]], day: int, method: str
) -> None:
    clock = Clock()
    with (
        TemporaryDirectory() as folder,
        theanine.open(f"{folder}/m.db", clock=clock, method=method) as client,
    ):
        ana = client.user("ana")
        tell(ana, ends)
        records = [*ana.export()]
        clock.time = START + day * DAY
        gone = {town for town, (end, _) in zip(TOWNS, ends, strict=False) if end and end <= day}
        kept = {*TOWNS[: len(ends)]} - gone
        reports = ana.expire()
        assert sum(report.turns for report in reports) == len(gone)
        assert all(report.verified for report in reports)
        client.remember()
        assert {turn.text.split()[-1].strip(".") for turn in ana.turns()} == kept
        for town in TOWNS[: len(ends)]:
            assert files_have(Path(folder), town) == (town in kept)
        assert ana.expire() == []
        with theanine.open(f"{folder}/other.db", clock=clock, method=method) as other:
            other.restore(records)
            assert sum(report.turns for report in other.expire()) == len(gone)
            assert not [turn for turn in other.user("ana").turns() if turn.text in gone]
        clock.time = START + 9 * DAY
        assert sum(report.turns for report in ana.expire()) == sum(
            1 for end, _ in ends if end and day < end
        )


def test_what_is_logged_without_an_end_is_as_before(tmp_path: Path, clock: Clock) -> None:
    found: list[str] = []
    for name, ends in (("a", [(None, None)] * 4), ("b", [(None, 9), (9, None), (None, 9), (9, 9)])):
        with theanine.open(str(tmp_path / name), clock=clock) as client:
            tell(client.user("ana"), ends)
            found.append(client.user("ana").recall("Where do I keep a boat?").text)
    assert found[0] == found[1], "what ends later is recalled as what doesn't"


# how an end is given


def test_a_day_ends_in_the_users_time_zone(client: theanine.Client, clock: Clock) -> None:
    ana = client.user("ana")
    ana.set_time_zone("Europe/Zagreb")
    metadata = {"expires": "2026-03-05"}
    turns = [
        ana.session("a").hear("The code of the gate is 7.", expires=date(2026, 3, 5)),
        ana.session("a").say("The code of the door is 8.", expires="2026-03-05"),
        *ana.session("b").add("The code of the safe is 9.", metadata=metadata).turns,
        ana.session("c", metadata=metadata).hear("The code of the car is 10."),
    ]
    assert {turn.metadata["expires"] for turn in turns} == {"2026-03-05T22:59:59+00:00"}
    clock.time = datetime(2026, 3, 5, 22, 59, tzinfo=UTC)
    assert len(ana.turns()) == 4
    clock.time += timedelta(minutes=1)
    assert ana.turns() == [] == ana.session("a").messages()


@pytest.mark.parametrize("name", ["expires", "verify_by"])
@pytest.mark.parametrize("value", ["soon", "2026-13-01", "3026-01-01", "", 5, True, 1.5])
def test_what_is_no_time_is_refused_and_named(
    client: theanine.Client, name: str, value: Any
) -> None:
    ana = client.user("ana")
    turn = Utterance(text="I have a key.", speaker="Ana", at=START, metadata={name: value})
    calls: list[Callable[[], object]] = [
        lambda: ana.add("I have a key.", metadata={name: value}),
        lambda: ana.session("a", metadata={name: value}).hear("I have a key."),
        lambda: ana.log(
            History(name="Ana", transcripts=[Transcript(key="k", turns=[turn], at=START)])
        ),
    ]
    for call in calls:
        with pytest.raises(BadInput, match=name):
            call()
    ends: dict[str, Any] = {name: datetime(2026, 3, 5)}
    with pytest.raises(SettingsError, match=f"{name} needs a UTC offset"):
        ana.add("I have a key.", **ends)
    assert ana.turns() == []


def test_metadata_of_earlier_versions_that_is_no_time_means_nothing(
    client: theanine.Client, clock: Clock, tmp_path: Path
) -> None:
    ana = client.user("ana")
    ana.add("I have a key.", metadata={"lasts": "never"})
    ana.add("I have a code.", expires=START + DAY)
    records = [dict(record) for record in ana.export()]
    for record in records:
        if record.get("metadata") == {"lasts": "never"}:
            record["metadata"] = {"expires": "never"}
    clock.time = START + 2 * DAY
    with theanine.open(str(tmp_path / "other.db"), clock=clock) as other:
        other.restore(records, partial=True)
        assert [turn.text for turn in other.user("ana").turns()] == ["I have a key."]
        assert len(other.expire()) == 1


# what it does to the rest


def test_a_memory_ends_with_the_first_turn_it_rests_on(
    client: theanine.Client, clock: Clock
) -> None:
    ana = client.user("ana")
    session = ana.session("a", metadata={"channel": "web"})
    session.hear("I live in Zadar.", expires=START + 2 * DAY, verify_by=START + DAY)
    session.hear("I live in Zadar.", expires=START + 3 * DAY)
    session.end(remember=True)
    ends = {str(memory.metadata["expires"]) for memory in ana.memories()}
    assert min(ends, default="") == "2026-03-03T12:00:00+00:00"
    clock.time = START + 2 * DAY
    assert "I live in Zadar." in str(ana.turns())
    ana.expire()
    ana.remember()
    [memory] = ana.memories()
    assert memory.metadata == {"channel": "web", "expires": "2026-03-04T12:00:00+00:00"}


def test_imported_memories_end_with_their_session(client: theanine.Client, clock: Clock) -> None:
    ana = client.user("ana")
    transcript = Transcript(
        key="k",
        turns=[],
        at=START,
        memories=[ImportedMemory(text="Ana has a locker at the station.")],
        metadata={"expires": "2026-03-04"},
    )
    ana.log(History(name="ana", transcripts=[transcript]))
    ana.remember()
    assert len(ana.memories()) == 1
    clock.time = START + 4 * DAY
    assert ana.memories() == []
    assert [report.memories for report in ana.expire()] == [1]


def test_a_correction_is_verified_and_ends_when_the_old_one_does(
    client: theanine.Client, clock: Clock
) -> None:
    ana = client.user("ana")
    ana.add("My locker is 12.", expires=START + 9 * DAY, verify_by=START + DAY)
    clock.time = START + 2 * DAY
    [due] = ana.memories(due=True)
    assert NOTE in ana.recall("Which locker is mine?").text
    new = ana.correct(due.id, "My locker is 12.")
    assert new.metadata == {"expires": due.metadata["expires"]}
    assert ana.memories(due=True) == [] == ana.turns(due=True)
    assert NOTE not in ana.recall("Which locker is mine?").text
    again = ana.correct(new.id, "My locker is 14.", verify_by=START + 3 * DAY, expires="2026-04-01")
    assert again.metadata["expires"] == "2026-04-01T23:59:59+00:00"
    clock.time = START + 4 * DAY
    assert ana.memories(due=True) == [again]
    clock.time = START + 20 * DAY
    ana.expire()
    assert [turn.text for turn in ana.turns()] == ["My locker is 14."]


def test_a_profile_asks_again(client: theanine.Client, clock: Clock) -> None:
    ana = client.user("ana")
    ana.add("I live in Zadar.", verify_by=START + DAY)
    ana.add("I work as a nurse.")
    before = ana.profile()
    assert {line.certainty for line in before.lines} == {"said"}
    clock.time = START + 2 * DAY
    after = ana.profile()
    assert {line.text: line.certainty for line in after.lines} == {
        "I live in Zadar.": "to be verified",
        "I work as a nurse.": "said",
    }
    assert after.text.endswith(
        "To be verified with the user:\n“I live in Zadar.” (since 1 March 2026)"
    )
    assert ana.profile(as_of=START).text == before.text
    ana.add("I live in Zadar.")
    assert "to be verified" not in {line.certainty for line in ana.profile().lines}


def test_notes_stay_within_the_budget(client: theanine.Client, clock: Clock) -> None:
    ana = client.user("ana")
    tell(ana, [(None, 1)] * len(TOWNS))
    ana.pin(1)
    clock.time = START + 2 * DAY
    for budget in [*range(0, 200, 7)]:
        found = ana.recall("Where do I keep a boat?", budget=budget)
        assert count_tokens(found.text) <= budget
        lines = [line for line in found.text.split("\n") if "sailing boat" in line]
        assert all(any(mark in line for mark in MARKS) for line in lines)


def test_remembering_erases_what_has_expired(client: theanine.Client, clock: Clock) -> None:
    ana = client.user("ana")
    ana.add("The code of the gate is 4711.", expires=START + DAY)
    clock.time = START + DAY + timedelta(hours=1)
    client.remember()
    assert ana.turns() == []
    assert ana.expire() == []


def test_many_ends_are_found_by_the_first(client: theanine.Client, clock: Clock) -> None:
    rng = Random(5)
    ends = {number: rng.randrange(1, 30) for number in range(60)}
    for number, end in ends.items():
        client.user(f"u{number % 7}").session("s").hear(
            f"Code {number}.", expires=START + end * DAY
        )
    for day in range(0, 31, 3):
        clock.time = START + day * DAY
        client.expire()
        left = {turn.text for number in range(7) for turn in client.user(f"u{number}").turns()}
        assert left == {f"Code {number}." for number, end in ends.items() if end > day}
