"""Memories as records: lists in pages, corrections, pins, forgetting, retention, time zones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theanine
from theanine.errors import BadInput, NotFound, SettingsError
from theanine.methods.registry import names
from theanine.tokenizer import count_tokens
from theanine.types import History, ImportedMemory, Metadata, Transcript, Utterance

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
FACTS = (
    "I'm a vegan and I never eat cheese.",
    "My sister Iva keeps bees on the roof of her house in Split.",
    "I work as a nurse at the harbor clinic.",
    "Our boat is called Galeb and it is blue.",
)
METHODS = sorted({*names()} - {"no-memory", "full-history"})
"""Those that make memories."""


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.time = START + timedelta(days=20)

    def __call__(self) -> datetime:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def reopen(tmp_path: Path, clock: Clock) -> Iterator[Callable[..., theanine.Client]]:
    """Open the store of this test, as another process would after a restart."""
    opened: list[theanine.Client] = []

    def open_again(**options: Any) -> theanine.Client:
        for client in opened:
            client.close()
        opened[:] = [theanine.open(str(tmp_path / "m.db"), clock=clock, **options)]
        return opened[0]

    yield open_again
    for client in opened:
        assert client.check() == "", "nothing refers to what is gone"
        client.close()


@pytest.fixture
def client(reopen: Callable[..., theanine.Client]) -> theanine.Client:
    return reopen()


def transcripts(*facts: str, first: int = 0) -> list[Transcript]:
    """One session a day, each with one fact."""
    days = [START + timedelta(days=first + day) for day in range(len(facts))]
    return [
        Transcript(
            key=f"s{first + number}",
            at=at,
            turns=[Utterance(text=fact, speaker="ana", at=at, key="only")],
        )
        for number, (fact, at) in enumerate(zip(facts, days, strict=True))
    ]


def log(client: theanine.Client, *facts: str, first: int = 0, user: str = "ana") -> None:
    client.user(user).log(History(name=user, transcripts=transcripts(*facts, first=first)))
    client.remember()


def before_and_after(
    client: theanine.Client, reopen: Callable[..., theanine.Client]
) -> Iterator[theanine.UserMemory]:
    """Yield the user's handle, then the one after a restart."""
    yield client.user("ana")
    yield reopen().user("ana")


def find(user: theanine.UserMemory, word: str) -> theanine.Memory:
    [memory] = user.memories(search=word)
    return memory


def files_have(tmp_path: Path, words: str) -> bool:
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    return any(words.encode() in path.read_bytes() for path in files)


# lists


@pytest.mark.slow
@given(
    limit=st.integers(1, 5),
    counts=st.lists(st.integers(0, 4), min_size=1, max_size=6),
    newest_first=st.booleans(),
    kind=st.sampled_from(["turns", "memories", "sessions"]),
)
@settings(max_examples=15, deadline=None)
def test_pages_have_every_row_exactly_once_while_rows_are_added(
    limit: int, counts: list[int], newest_first: bool, kind: str
) -> None:
    with TemporaryDirectory() as folder, theanine.open(f"{folder}/m.db") as client:
        ana = client.user("ana")
        log(client, *FACTS)
        at_start = [row.id for row in getattr(ana, kind)()]
        seen: list[int] = []
        logged = len(FACTS)
        while page := getattr(ana, kind)(
            limit=limit, after=seen[-1] if seen else None, newest_first=newest_first
        ):
            assert len(page) <= limit
            seen += [row.id for row in page]
            added = counts.pop() if counts else 0
            log(client, *(f"I own a goat number {logged + n}." for n in range(added)), first=logged)
            logged += added
        assert seen == sorted(set(seen), reverse=newest_first)
        assert set(at_start) <= set(seen)
        everything = {row.id for row in getattr(ana, kind)()}
        assert set(seen) <= everything
        assert newest_first or set(seen) == everything


WORDS = st.sampled_from(
    ["vegan", "BEES", "boat blue", "split roof", "harbor", "zebra", "galeb ana"]
)


@pytest.mark.slow
@given(
    search=st.just("") | WORDS,
    since=st.none() | st.integers(0, 4),
    until=st.none() | st.integers(0, 4),
    channel=st.none() | st.sampled_from(["app", "web"]),
)
@settings(max_examples=25, deadline=None)
def test_lists_have_what_the_options_say(
    listed: theanine.Client, search: str, since: int | None, until: int | None, channel: str | None
) -> None:
    ana = listed.user("ana")
    options: dict[str, Any] = {"search": search}
    if since is not None:
        options["since"] = START + timedelta(days=since)
    if until is not None:
        options["until"] = (START + timedelta(days=until)).date()
    if channel is not None:
        options["where"] = {"channel": channel}

    def wanted(text: str, at: datetime, metadata: Metadata) -> bool:
        return (
            all(word in text.casefold() for word in search.casefold().split())
            and (since is None or at >= options["since"])
            and (until is None or at.date() <= options["until"])
            and (channel is None or metadata.get("channel") == channel)
        )

    turns = [t.id for t in ana.turns() if wanted(f"{t.speaker} {t.text}", t.at, t.metadata)]
    assert [turn.id for turn in ana.turns(**options)] == turns
    memories = [m.id for m in ana.memories() if wanted(f"ana {m.text}", m.at, m.metadata)]
    assert [memory.id for memory in ana.memories(**options)] == memories
    texts = {turn.session: turn.text for turn in ana.turns()}
    sessions = [
        s.id for s in ana.sessions() if wanted(f"ana {texts[s.id]}", s.started_at, s.metadata)
    ]
    assert [session.id for session in ana.sessions(**options)] == sessions


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[theanine.Client]:
    """Sessions on four days, with metadata."""
    path = tmp_path_factory.mktemp("listed") / "m.db"
    with theanine.open(str(path)) as client:
        every = [
            Transcript(
                key=one.key,
                at=one.at,
                turns=one.turns,
                metadata={"channel": "web" if number % 2 else "app"} if number else {},
            )
            for number, one in enumerate(transcripts(*FACTS))
        ]
        client.user("ana").log(History(name="ana", transcripts=every))
        client.remember()
        yield client


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 0}, "the limit must be at least 1"),
        ({"after": "x"}, "after must be a whole number"),
        ({"search": 3}, "search must be a string"),
        ({"since": "soon"}, "since ('soon') is not a date"),
        ({"until": 3}, "until must be a date"),
        ({"where": {"n": {"=>": 1}}}, "did you mean"),
    ],
)
def test_lists_refuse_options_without_a_meaning(
    client: theanine.Client, options: dict[str, Any], message: str
) -> None:
    log(client, FACTS[0])
    for read in (
        client.user("ana").turns,
        client.user("ana").memories,
        client.user("ana").sessions,
    ):
        with pytest.raises(SettingsError) as raised:
            read(**options)
        assert message in str(raised.value)
    wrong: dict[str, Any] = {"limt": 3}
    with pytest.raises(TypeError, match="unexpected keyword argument 'limt'"):
        client.user("ana").memories(**wrong)


def test_sessions_are_found_by_the_metadata_of_their_turns(client: theanine.Client) -> None:
    ana = client.user("ana")
    for fact, metadata in zip(FACTS, ({"channel": "web"}, {"channel": "app"}, {}, {}), strict=True):
        message = {"role": "user", "content": fact}
        ana.add([message], session="a" if metadata else "b", metadata=metadata)
    by_key = {session.id: session for session in ana.sessions()}
    assert len(by_key) == 2
    assert [session.id for session in ana.sessions(where={"channel": "app"})] == [1]
    assert [session.id for session in ana.sessions(where={"channel": None})] == [1, 2]
    assert [session.id for session in ana.sessions(search="nurse boat")] == [2]
    assert ana.sessions(search="nurse boat", where={"channel": "web"}) == []


# corrections


def test_a_correction_replaces_what_a_memory_says(
    client: theanine.Client, reopen: Callable[..., theanine.Client], clock: Clock
) -> None:
    log(client, *FACTS)
    ana = client.user("ana")
    old = find(ana, "vegan")
    clock.time = START + timedelta(days=30)
    new = ana.correct(old.id, "I'm a vegetarian and I do eat cheese.")
    assert (new.text, new.at, new.made_by) == (
        "I'm a vegetarian and I do eat cheese.", clock.time, "caller",
    )  # fmt: skip
    [turn] = ana.turns(ids=new.source_turns)
    assert (turn.text, turn.role, turn.corrects) == (new.text, "user", old.id)
    assert {each.corrects for each in ana.turns() if each != turn} == {None}
    exported = [record for record in ana.export() if record.get("text") == new.text]
    assert {"corrects": str(old.id)} in [record.get("notes") for record in exported]
    for memory in before_and_after(client, reopen):
        assert memory.get(old.id) == old, "the old one stays"
        [mark] = memory.marks()
        assert (mark.memory, mark.kind, mark.by) == (old.id, "corrected", new.id)
        assert [version.id for version in memory.history(old.id)] == [old.id, new.id]
        assert memory.history(new.id) == memory.history(old.id)
        found = memory.recall("Does she eat cheese as a vegan?")
        assert new.text in found.text
        assert f"{FACTS[0]} (corrected on 31 March 2026)" in found.text
        assert old.id in [source.corrects for source in found.source_turns]
        before = memory.recall("Does she eat cheese as a vegan?", as_of=START + timedelta(days=9))
        assert FACTS[0] in before.text
        assert "corrected" not in before.text
        assert new.text not in before.text


@pytest.mark.parametrize("budget", [20, 30, 40, 60, 200])
def test_old_words_within_a_budget_come_with_their_correction(
    client: theanine.Client, budget: int
) -> None:
    log(client, *FACTS)
    ana = client.user("ana")
    new = ana.correct(find(ana, "vegan").id, "I'm a vegetarian and I do eat cheese.")
    found = ana.recall("Is she a vegan, and does she eat cheese?", budget=budget)
    if FACTS[0] in found.text:
        assert new.text in found.text
        assert "(corrected on" in found.text
    assert count_tokens(found.text) <= budget


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_method_recalls_the_correction(
    reopen: Callable[..., theanine.Client], method: str
) -> None:
    client = reopen(method=method)
    log(client, *FACTS)
    ana = client.user("ana")
    corrected = next(m for m in ana.memories() if "vegan" in m.text)
    new = ana.correct(corrected.id, "I'm a vegetarian and I do eat cheese.")
    found = ana.recall("Does she eat cheese?", budget=2_000)
    assert "vegetarian" in found.text
    assert corrected.id not in [m.id for part in found.parts for m in part.memories[:1]] or any(
        new.id in [m.id for m in part.memories] for part in found.parts
    )


def test_a_correction_can_be_corrected_and_forgotten(client: theanine.Client) -> None:
    log(client, *FACTS)
    ana = client.user("ana")
    first = find(ana, "nurse")
    second = ana.correct(first.id, "I work as a midwife at the harbor clinic.")
    third = ana.correct(second.id, "I work as a surgeon at the harbor clinic.")
    assert [version.id for version in ana.history(second.id)] == [first.id, second.id, third.id]
    with pytest.raises(BadInput, match=f"correct memory {second.id} instead"):
        ana.correct(first.id, "Something else.")
    found = ana.recall("Where does she work, at the harbor clinic?")
    assert found.text.count("(corrected on 21 March 2026)") == 2
    ana.forget(memory=third.id)
    assert [mark.memory for mark in ana.marks()] == [first.id]
    ana.forget(memory=second.id)
    assert ana.marks() == []
    assert "corrected" not in ana.recall("Where does she work, at the harbor clinic?").text


def test_bad_corrections_are_refused(client: theanine.Client) -> None:
    log(client, *FACTS)
    ana = client.user("ana")
    with pytest.raises(NotFound, match="no memory 99"):
        ana.correct(99, "Something.")
    with pytest.raises(BadInput, match="empty"):
        ana.correct(1, "  ")
    assert len(ana.turns()) == len(FACTS)
    for read in (ana.get, ana.history, ana.pin, ana.unpin):
        with pytest.raises(NotFound, match="no memory 99"):
            read(99)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["again", "instead"])
def test_corrections_and_pins_survive_a_rebuild(
    reopen: Callable[..., theanine.Client], how: str
) -> None:
    client = reopen(method="theanine" if how == "again" else "utterance")
    log(client, *FACTS)
    ana = client.user("ana")
    ana.correct(find(ana, "nurse").id, "I work as a surgeon at the harbor clinic.")
    ana.pin(find(ana, "Galeb").id)
    again = reopen(method="theanine")
    again.rebuild(again=how == "again", instead=how == "instead")
    ana = again.user("ana")
    [mark] = ana.marks()
    assert "nurse" in ana.get(mark.memory).text
    assert mark.by is not None
    assert "surgeon" in ana.get(mark.by).text
    assert [m.id for m in ana.history(mark.memory)] == [mark.memory, mark.by]
    [pinned] = ana.memories(pinned=True)
    assert "Galeb" in pinned.text
    assert ana.recall("Is anyone a nurse?").parts[0].pinned


@pytest.mark.slow
def test_corrections_and_pins_hold_in_a_second_method(
    reopen: Callable[..., theanine.Client],
) -> None:
    first = reopen(method="theanine")
    log(first, *FACTS)
    ana = first.user("ana")
    old = find(ana, "nurse")
    ana.correct(old.id, "I work as a surgeon at the harbor clinic.")
    boat = find(ana, "Galeb")
    ana.pin(boat.id)
    second = reopen(method="utterance")
    for _ in range(2):  # a second time changes nothing
        second.rebuild()
        bea = second.user("ana")
        [mark] = bea.marks()
        assert "nurse" in bea.get(mark.memory).text
        assert mark.by is not None
        assert "surgeon" in bea.get(mark.by).text
        assert [m.id for m in bea.history(mark.memory)] == [mark.memory, mark.by]
        assert ["Galeb" in m.text for m in bea.memories(pinned=True)] == [True]
        found = bea.recall("Who works at the harbor clinic?")
        assert "nurse" not in found.text
        assert "surgeon" in found.text
    # Later corrections come with the turn that they are, and the latest pin counts.
    first = reopen(method="theanine")
    ana = first.user("ana")
    ana.correct(find(ana, "vegan").id, "I'm a vegetarian and I do eat cheese.")
    ana.unpin(boat.id)
    second = reopen(method="utterance")
    second.remember()
    bea = second.user("ana")
    assert {bea.get(mark.memory).text for mark in bea.marks()} >= {
        memory.text for memory in bea.memories(search="vegan")
    }
    assert bea.memories(pinned=True) == []
    first = reopen(method="theanine")
    first.remember()
    first.rebuild()
    assert [mark.memory for mark in first.user("ana").marks()] == [
        old.id,
        find(first.user("ana"), "vegan").id,
    ]


@pytest.mark.slow
def test_a_correction_of_a_part_does_not_hide_the_rest(
    reopen: Callable[..., theanine.Client],
) -> None:
    client = reopen(method="theanine")
    ana = client.user("ana")
    messages = [{"role": "user", "content": text} for text in FACTS]
    ana.add(messages)
    ana.correct(find(ana, "nurse").id, "I work as a surgeon at the harbor clinic.")
    client = reopen(method="session")
    client.rebuild()
    bea = client.user("ana")
    assert bea.marks() == []
    found = bea.recall("Who works at the harbor clinic?", budget=2_000).text
    assert "surgeon" in found
    assert "Galeb" in found


# pins


def test_a_pinned_memory_is_in_every_recollection(
    client: theanine.Client, reopen: Callable[..., theanine.Client]
) -> None:
    log(client, *FACTS)
    ana = client.user("ana")
    boat = find(ana, "Galeb")
    assert not ana.recall("What about the roof of the house in Split?", limit=1).parts[0].pinned
    assert ana.pin(boat.id)
    assert not ana.pin(boat.id), "it is pinned already"
    for memory in before_and_after(client, reopen):
        assert memory.memories(pinned=True) == [boat]
        assert boat not in memory.memories(pinned=False)
        found = memory.recall("Who keeps bees on the roof?")
        assert [part.pinned for part in found.parts] == [True, *[False] * (len(found.parts) - 1)]
        assert found.parts[0].text.startswith("(pinned) ")
        assert found.text.count("Galeb") == 1
        assert FACTS[1] in found.text
        assert "Galeb" in memory.recall("Xyzzy?").text
        assert len(memory.recall("Who keeps bees on the roof?", limit=1).parts) == 1
        assert "Galeb" not in memory.recall("Who keeps bees?", until=START).text
        assert "Galeb" not in memory.recall("Who keeps bees?", budget=5).text
    ana = reopen().user("ana")
    assert ana.unpin(boat.id)
    assert not ana.unpin(boat.id)
    assert "Galeb" not in ana.recall("Xyzzy?").text


def test_another_process_sees_pins_and_corrections_at_once(
    client: theanine.Client, tmp_path: Path
) -> None:
    log(client, *FACTS)
    ana = client.user("ana")
    with theanine.open(str(tmp_path / "m.db")) as other:
        twin = other.user("ana")
        assert "Galeb" not in twin.recall("Xyzzy?").text
        boat = find(ana, "Galeb")
        ana.pin(boat.id)
        assert "Galeb" in twin.recall("Xyzzy?").text
        new = ana.correct(boat.id, "Our boat is called Orca and it is red.")
        assert "Orca" in twin.recall("Xyzzy?").text
        assert "Galeb" not in twin.recall("Xyzzy?").text
        ana.unpin(new.id)
        assert "Orca" not in twin.recall("Xyzzy?").text


@pytest.mark.parametrize("budget", [0, 10, 25, 40, 80])
def test_pinned_memories_share_the_budget(client: theanine.Client, budget: int) -> None:
    log(client, *FACTS)
    ana = client.user("ana")
    for memory in ana.memories()[:3]:
        ana.pin(memory.id)
    found = ana.recall("Who keeps bees on the roof?", budget=budget)
    assert count_tokens(found.text) <= budget


def test_a_pin_passes_to_the_correction(client: theanine.Client) -> None:
    log(client, *FACTS)
    ana = client.user("ana")
    boat = find(ana, "Galeb")
    ana.pin(boat.id)
    new = ana.correct(boat.id, "Our boat is called Orca and it is red.")
    found = ana.recall("Xyzzy?")
    assert [part.memories for part in found.parts if part.pinned] == [(new,)]
    assert ana.memories(pinned=True) == [new]
    ana.unpin(boat.id)
    with pytest.raises(BadInput, match=f"pin memory {new.id} instead"):
        ana.pin(boat.id)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_method_recalls_what_is_pinned(
    reopen: Callable[..., theanine.Client], method: str
) -> None:
    client = reopen(method=method)
    log(client, *FACTS)
    ana = client.user("ana")
    pinned = next(m for m in ana.memories() if "Galeb" in m.text)
    ana.pin(pinned.id)
    found = ana.recall("Who keeps bees on the roof?", budget=400)
    assert [part.memories for part in found.parts if part.pinned] == [(pinned,)]


# forgetting


def test_a_turn_is_forgotten_with_what_was_made_from_it(
    client: theanine.Client, reopen: Callable[..., theanine.Client], tmp_path: Path
) -> None:
    log(client, *FACTS)
    ana = client.user("ana")
    [turn] = ana.turns(search="nurse")
    report = ana.forget(turn=turn.id)
    assert (report.turns, report.memories, report.verified) == (1, 1, True)
    ana = reopen().user("ana")
    assert ana.turns(search="nurse") == []
    assert ana.memories(search="nurse") == []
    assert len(ana.memories()) == len(FACTS) - 1
    assert not files_have(tmp_path, "work as a nurse")
    ana.log(History(name="ana", transcripts=transcripts(*FACTS)))
    assert ana.turns(search="nurse") == [], "importing again does not bring it back"
    with pytest.raises(NotFound, match="no turn 99"):
        ana.forget(turn=99)


def test_other_turns_of_the_session_are_remembered_again(client: theanine.Client) -> None:
    ana = client.user("ana")
    turns = [
        Utterance(text=fact, speaker="ana", at=START + timedelta(minutes=n))
        for n, fact in enumerate(FACTS)
    ]
    ana.log(History(name="ana", transcripts=[Transcript(key="s", at=START, turns=turns)]))
    client.remember()
    before = [memory.text for memory in ana.memories()]
    [turn] = ana.turns(search="nurse")
    assert ana.forget(turn=turn.id).pending_again == 1
    client.remember()
    assert [m.text for m in ana.memories()] == [text for text in before if "nurse" not in text]


def test_an_imported_memory_goes_with_its_turn(client: theanine.Client, tmp_path: Path) -> None:
    transcript = Transcript(
        key="s",
        at=START,
        turns=[Utterance(text=FACTS[0], speaker="ana", at=START, key="k")],
        memories=[
            ImportedMemory(text="Ana avoids every animal product.", source_keys=("k",)),
            ImportedMemory(text="Ana likes long walks."),
        ],
    )
    ana = client.user("ana")
    history = History(name="ana", transcripts=[transcript])
    ana.log(history)
    client.remember()
    assert ana.forget(turn=1).verified
    client.remember()
    ana.log(history)
    client.remember()
    assert [memory.text for memory in ana.memories()] == ["Ana likes long walks."]
    assert not files_have(tmp_path, "animal product")


def test_a_memory_is_forgotten_without_its_turns(client: theanine.Client) -> None:
    log(client, *FACTS)
    ana = client.user("ana")
    nurse = find(ana, "nurse")
    report = ana.forget(memory=nurse.id, keep_turns=True)
    assert (report.turns, report.memories, report.verified) == (0, 1, False)
    assert any("as asked" in kept for kept in report.kept)
    assert ana.memories(search="nurse") == []
    assert "nurse" in ana.recall("Where does she work?").text
    with pytest.raises(BadInput, match="keep_turns is for forgetting a memory"):
        ana.forget(turn=1, keep_turns=True)
    with pytest.raises(BadInput, match="one session, thread, memory or turn"):
        ana.forget(turn=1, memory=1)


def test_only_its_own_call_forgets_the_user(client: theanine.Client) -> None:
    ana = client.user("ana")
    ana.add("I'm vegan.")
    live = ana.session("never-used")
    nothings: list[dict[str, Any]] = [{}, {"session": live.id}, {"turn": None}, {"thread": None}]
    for nothing in nothings:
        with pytest.raises(BadInput, match=r"must not be None; forget_all\(\) erases the user"):
            ana.forget(**nothing)
    assert len(ana.turns()) == 1
    assert ana.forget_all().verified
    assert client.users() == []


def test_a_thread_is_forgotten_with_all_its_sessions(
    client: theanine.Client, tmp_path: Path
) -> None:
    ana = client.user("ana")
    live = ana.session("thread-42")
    live.hear(f"{FACTS[0]} Galeb.")
    live.end()
    live.hear("Galeb is asleep.")
    ana.session("other").hear("Something else.")
    report = ana.forget(thread="thread-42")
    assert (report.sessions, report.turns, report.verified) == (2, 2, True)
    assert (report.kept, report.pending_again) == ((), 0)
    assert [turn.text for turn in ana.turns()] == ["Something else."]
    assert not files_have(tmp_path, "Galeb")
    assert live.turns() == []
    with pytest.raises(NotFound, match="no thread 'thread-42'"):
        ana.forget(thread="thread-42")


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("forgotten", [0, 2, 3])
def test_a_forgotten_message_is_not_logged_when_the_history_is_sent_again(
    client: theanine.Client, forgotten: int, *, keyed: bool
) -> None:
    ana = client.user("ana")
    history: list[dict[str, Any]] = [
        {"role": "user", "content": fact, **({"id": f"m{number}"} if keyed else {})}
        for number, fact in enumerate(FACTS)
    ]
    ana.add(history, session="thread")
    ana.forget(turn=forgotten + 1)
    ana.add(history, session="thread")
    left = [fact for number, fact in enumerate(FACTS) if number != forgotten]
    assert [turn.text for turn in ana.turns()] == left
    latest = {"role": "user", "content": "I moved to Rijeka.", **({"id": "m9"} if keyed else {})}
    ana.add([*history, latest], session="thread")
    assert [turn.text for turn in ana.turns()] == [*left, "I moved to Rijeka."]
    again = {**history[forgotten], **({"id": "m10"} if keyed else {})}
    ana.add(again, session="thread")
    assert [turn.text for turn in ana.turns()][-1] == FACTS[forgotten], "said again, it is new"


def test_forgetting_the_old_memory_leaves_its_correction(
    client: theanine.Client, tmp_path: Path
) -> None:
    log(client, *FACTS)
    ana = client.user("ana")
    nurse = find(ana, "nurse")
    new = ana.correct(nurse.id, "I work as a surgeon.")
    assert ana.forget(memory=nurse.id).verified
    assert ana.get(new.id) == new
    assert ana.history(new.id) == [new]
    assert not files_have(tmp_path, "work as a nurse")
    assert "corrected" not in ana.recall("Where does she work?").text


# retention


def test_what_is_older_than_the_retention_is_forgotten(
    client: theanine.Client, reopen: Callable[..., theanine.Client], clock: Clock, tmp_path: Path
) -> None:
    log(client, *FACTS)
    log(client, "I am Ben and I collect stamps.", user="ben")
    clock.time = START + timedelta(days=10)
    client.user("ana").set_retention(timedelta(days=8, hours=12))
    assert client.user("ana").settings().retention == timedelta(days=8, hours=12)
    client = reopen()
    [report] = client.expire()
    assert (report.scope.user, report.turns, report.memories, report.verified) == (
        "ana", 2, 2, True,
    )  # fmt: skip
    ana = client.user("ana")
    assert [turn.text for turn in ana.turns()] == list(FACTS[2:])
    assert not files_have(tmp_path, "I never eat cheese")
    assert client.expire() == []
    assert client.pending() == []
    ana.log(History(name="ana", transcripts=transcripts(*FACTS)))
    assert [turn.text for turn in ana.turns()] == list(FACTS[2:]), "tombstones keep it away"
    assert client.user("ben").turns()


def test_remembering_forgets_what_has_expired(client: theanine.Client, clock: Clock) -> None:
    client.set_retention(timedelta(days=30))
    assert client.retention() == timedelta(days=30)
    log(client, *FACTS)
    client.user("ben").set_retention(timedelta(days=365))
    log(client, *FACTS, user="ben")
    clock.time = START + timedelta(days=32, hours=2)
    client.remember()
    assert [turn.text for turn in client.user("ana").turns()] == [FACTS[3]]
    assert len(client.user("ben").turns()) == len(FACTS), "a user's own setting goes first"
    client.set_retention(None)
    clock.time = START + timedelta(days=300)
    assert client.expire() == []


def test_a_tenants_retention_goes_before_the_stores(client: theanine.Client, clock: Clock) -> None:
    client.set_retention(timedelta(days=30))
    client.set_retention(timedelta(days=365), tenant="acme")
    assert client.retention(tenant="acme") == timedelta(days=365)
    assert client.retention(tenant="other") is None
    acme, other = (client.user("ana", tenant=tenant) for tenant in ("acme", "other"))
    own = client.user("bo", tenant="acme")
    own.set_retention(timedelta(days=1))
    for user in (acme, other, own):
        user.add("I live in Zadar.")
    clock.time = START + timedelta(days=60)
    assert len(client.expire()) == 2
    assert (len(acme.turns()), len(other.turns()), len(own.turns())) == (1, 0, 0)
    client.set_retention(None, tenant="acme")
    client.expire()
    assert acme.turns() == []
    with pytest.raises(BadInput, match="the tenant is empty"):
        client.set_retention(timedelta(days=1), tenant=" ")


@pytest.mark.slow
@given(
    days=st.lists(st.integers(0, 40), min_size=1, max_size=6),
    kept=st.integers(1, 30),
    steps=st.lists(st.integers(1, 20), min_size=1, max_size=3),
)
@settings(max_examples=12, deadline=None)
def test_after_expiry_nothing_older_is_left_and_nothing_younger_is_lost(
    days: list[int], kept: int, steps: list[int]
) -> None:
    clock = Clock()
    clock.time = START
    with (
        TemporaryDirectory() as folder,
        theanine.open(f"{folder}/m.db", clock=clock) as client,
    ):
        ana = client.user("ana")
        for day in days:
            with ana.session() as session:
                at = START + timedelta(days=day)
                session.hear(f"I own a goat that was born on day {day}.", at=at)
        ana.set_retention(timedelta(days=kept))
        for step in steps:
            clock.time += timedelta(days=step)
            oldest = clock.time - timedelta(days=kept)
            reports = client.expire()
            expected = sorted(day for day in days if START + timedelta(days=day) >= oldest)
            assert sorted((turn.at - START).days for turn in ana.turns()) == expected
            assert all(memory.at >= oldest for memory in ana.memories())
            assert len(ana.sessions()) == len(expected)
            assert all(report.verified for report in reports)


def test_undated_turns_do_not_expire(client: theanine.Client, clock: Clock) -> None:
    [transcript] = transcripts(FACTS[0])
    undated = Transcript(key="u", at=START, turns=transcript.turns, dated=False)
    client.user("ana").log(History(name="ana", transcripts=[undated]))
    client.set_retention(timedelta(days=1))
    clock.time = START + timedelta(days=400)
    assert client.expire() == []
    with pytest.raises(SettingsError, match="from a minute to"):
        client.set_retention(timedelta(seconds=1))


# time zone


def test_dates_are_those_of_the_users_time_zone(
    client: theanine.Client, reopen: Callable[..., theanine.Client], clock: Clock
) -> None:
    late = datetime(2026, 3, 9, 23, 30, tzinfo=UTC)
    ana = client.user("ana")
    with ana.session() as session:
        session.hear(FACTS[3], at=late)
    assert "9 March 2026" in ana.recall("What is the boat called?").text
    ana.set_time_zone("Europe/Zagreb")
    clock.time = datetime(2026, 3, 10, 23, 30, tzinfo=UTC)  # the 11th in Zagreb
    for memory in before_and_after(client, reopen):
        assert memory.settings().time_zone == "Europe/Zagreb"
        found = memory.recall("What is the boat called?")
        assert "10 March 2026" in found.text
        assert "9 March" not in found.text
        memory.pin(memory.memories()[0].id)
        assert "said on 10 March 2026" in memory.recall("What is the boat called?").parts[0].text
        memory.unpin(memory.memories()[0].id)
        assert found.source_turns[0].at == late
        assert found.source_turns[0].at.tzinfo == ZoneInfo("Europe/Zagreb")
        question = "What is the boat called?"
        for since in (
            "2026-03-10",
            date(2026, 3, 10),
            "yesterday",
            "2026-03-10T00:15",
            "1 day ago",
        ):
            assert memory.recall(question, since=since), since
            assert memory.turns(since=since), since
        for since in ("2026-03-11", "today", "2026-03-10T00:45"):
            assert not memory.recall(question, since=since), since
            assert not memory.turns(since=since), since
        assert not memory.turns(until="2026-03-09")
        assert memory.sessions()[0].started_at.tzinfo == ZoneInfo("Europe/Zagreb")
        assert memory.memories()[0].at.tzinfo == ZoneInfo("Europe/Zagreb")
    memory = reopen().user("ana")
    heard = memory.session("thread").hear("It is late.", at=late)
    assert (heard.at, heard.at.tzinfo) == (late, ZoneInfo("Europe/Zagreb"))
    with pytest.raises(SettingsError, match="unknown time zone 'Nowhere/Land'"):
        memory.set_time_zone("Nowhere/Land")


# export


def test_an_export_has_all_of_it(client: theanine.Client, tmp_path: Path, clock: Clock) -> None:
    log(client, *FACTS)
    ana = client.user("ana")
    ana.correct(find(ana, "nurse").id, "I work as a surgeon.")
    ana.pin(find(ana, "Galeb").id)
    ana.set_time_zone("Asia/Tokyo")
    ana.set_retention(timedelta(days=500))
    client.set_retention(timedelta(days=900))
    client.set_retention(timedelta(days=800), tenant="acme")
    with theanine.open(str(tmp_path / "copy.db"), clock=clock) as copy:
        copy.restore(list(client.export()))
        twin = copy.user("ana")
        assert list(copy.export()) == list(client.export())
        assert twin.settings() == ana.settings()
        assert copy.retention() == timedelta(days=900)
        assert copy.retention(tenant="acme") == timedelta(days=800)
        assert twin.memories(pinned=True) == ana.memories(pinned=True)
        question = "Where does she work?"
        assert twin.recall(question).text == ana.recall(question).text
        assert twin.memories() == ana.memories()
    with theanine.open(str(tmp_path / "ana.db"), clock=clock) as alone:
        alone.restore(list(ana.export()))
        assert alone.retention() is None, "the store's setting is not the user's"
        assert alone.user("ana").settings() == ana.settings()


# shared scopes


def test_a_shared_scope_is_recalled_from_when_it_is_given(client: theanine.Client) -> None:
    everyone = client.user("ana", agent="everyone")
    everyone.add(FACTS[0])
    support = client.user("ana", agent="support")
    support.add(FACTS[1])
    client.user("ana", agent="sales").add(FACTS[2])
    question = "What about cheese and bees, and the vegan at the harbor clinic?"
    assert {part.scope for part in support.recall(question).parts} == {None}
    assert FACTS[0] not in support.recall(question).text
    both = client.user("ana", agent="support", shared=["everyone", "support"])
    found = both.recall(question)
    assert FACTS[0] in found.text
    assert FACTS[1] in found.text
    assert FACTS[2] not in found.text
    scopes = {part.scope for part in found.parts}
    assert scopes == {both.scope, everyone.scope}
    assert {turn.text for turn in found.source_turns} == {FACTS[0], FACTS[1]}
    assert len(both.recall(question, limit=1).parts) == 1
    for budget in (0, 20, 30, 40, 60):
        assert count_tokens(both.recall(question, budget=budget).text) <= budget
    assert [turn.text for turn in both.turns()] == [FACTS[1]], "lists are of the own scope"
    with pytest.raises(SettingsError, match="shared must be a list"):
        client.user("ana", shared="everyone")


def test_a_reply_names_only_memories_of_its_own_scope(client: theanine.Client) -> None:
    client.user("ana", agent="everyone").add(FACTS[0])
    support = client.user("ana", agent="support", shared=["everyone"])
    with support.session() as session:
        session.hear("Do I eat cheese as a vegan?")
        reply = session.reply()
        assert "cheese" in reply.text
    assert [turn.recalled for turn in support.turns()] == [(), ()]


def test_several_turns_are_forgotten_in_one_step(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        ana = client.user("ana")
        ana.add([{"role": "user", "content": fact} for fact in FACTS], session="chat")
        report = ana.forget(turn=[1, 3, 99])
        assert (report.turns, report.verified) == (2, True)
        assert [turn.id for turn in ana.turns()] == [2, 4]
        for none in ([99], []):
            with pytest.raises(NotFound, match=r"no turn (99|of an empty list) for this user"):
                ana.forget(turn=none)


def test_turns_have_their_content_on_request(tmp_path: Path) -> None:
    with theanine.open(tmp_path / "memory.db") as client:
        ana = client.user("ana")
        parts = [{"type": "note", "text": FACTS[0], "stars": [4, 5]}]
        ana.add({"role": "user", "content": parts}, session="chat", metadata={"channel": "web"})
        where = {"channel": "web"}
        for turns in (ana.turns(with_content=True), ana.turns(where=where, with_content=True)):
            assert [turn.content for turn in turns] == [tuple(parts)]
        assert ana.turns()[0].content == ana.turns(where=where)[0].content == ()
