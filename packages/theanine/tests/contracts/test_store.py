"""The store's contract, in the order of the interface."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theanine.errors import BadInput, EmbedderMismatch, LeaseLost, NotFound
from theanine.store import Store, open_store
from theanine.store.processes import process_holder
from theanine.store.values import JournalEntry, Restored, ScopeVersion
from theanine.types import (
    ImportedMemory,
    Memory,
    MemoryBatch,
    NewLink,
    NewMemory,
    Relation,
    Scope,
    Transcript,
    Utterance,
)

from .conftest import CASES, StoreCase

pytestmark = pytest.mark.anyio

ANA, BEN = Scope("ana"), Scope("ben")
AT = datetime(2024, 3, 1, 9, 30, 15, 123456, tzinfo=timezone(timedelta(hours=5, minutes=45)))
METHOD = "theanine"
ME = process_holder()


def utterance_at(text: str, minute: float = 0, *, speaker: str = "Ana", **more: Any) -> Utterance:
    return Utterance(text=text, speaker=speaker, at=AT + timedelta(minutes=minute), **more)


def transcript(key: str, *texts: str, day: int = 0, **more: Any) -> Transcript:
    start = day * 24 * 60
    turns = [utterance_at(text, start + i) for i, text in enumerate(texts)]
    return Transcript(key=key, turns=turns, at=AT + timedelta(days=day), **more)


def unit(count: int, dimension: int = 16, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float32]]:
    rows = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def made(*texts: str, sources: Sequence[int] = (), links: Sequence[NewLink] = ()) -> MemoryBatch:
    memories = [NewMemory(text=text, at=AT, source_turns=tuple(sources)) for text in texts]
    return MemoryBatch(memories=memories, vectors=unit(len(texts)), links=links)


async def remember(
    store: Store, scope: Scope, session: int, what: MemoryBatch, **more: Any
) -> list[Memory]:
    lease = await store.acquire_lease(scope, ME, timedelta(hours=1))
    options: dict[str, Any] = {"embedder": "test", "lease": lease, "at": AT, **more}
    return await store.commit_batch(scope, session, METHOD, what, **options)


def entry(key: str, **more: Any) -> JournalEntry:
    values: dict[str, Any] = {"step": "relate", "version": 1, "model": "m", "at": AT, **more}
    return JournalEntry(key=key, **values)


async def export(store: Store) -> list[dict[str, Any]]:
    return [record async for record in store.export()]


@pytest.mark.slow
@pytest.mark.parametrize(("costs", "total"), [((0.5, 0.25), 0.75), ((None, 0.0), None)])
async def test_a_cost_is_none_if_any_answer_has_none(
    store: Store, costs: tuple[float | None, ...], total: float | None
) -> None:
    await store.log_transcript(ANA, transcript("s", "one"), METHOD)
    for number, cost in enumerate(costs):
        await store.add_journal_entry(ANA, entry(str(number), cost=cost, input_tokens=9))
    assert [line.cost for line in await store.costs()] == [total]


# the log


async def test_several_transcripts_are_logged_together_or_not_at_all(store: Store) -> None:
    first, second = transcript("a", "one", "two"), transcript("b", "three", day=1)
    logged = await store.log_transcripts(ANA, [first, second], METHOD)
    assert [(result.session, result.new_turns) for result in logged] == [(1, 2), (2, 1)]
    third, changed = transcript("c", "four", day=2), transcript("a", "other", "two")
    with pytest.raises(BadInput, match="another text"):
        await store.log_transcripts(ANA, [third, changed], METHOD)
    assert [session.key for session in await store.sessions(ANA, METHOD)] == ["a", "b"]


async def test_turns_keep_microseconds_and_zone(store: Store) -> None:
    session = await store.start_session(ANA, AT)
    heard = await store.append_turns(
        ANA,
        session,
        [
            utterance_at("Grüße, 你好 🛳️\n\ttab", key="a", attachment="a ship", recalled=(3, 1)),
            utterance_at("Hm.", 1, speaker="Bot", role="assistant"),
        ],
    )
    assert await store.turns(ANA) == heard
    assert [turn.id for turn in heard] == [1, 2]
    assert heard[0].at == AT
    assert heard[0].at.isoformat() == AT.isoformat()
    [session_row] = await store.sessions(ANA, METHOD)  # on the day that it was there
    assert session_row.started_at.isoformat() == AT.isoformat()
    assert (heard[0].text, heard[0].recalled) == ("Grüße, 你好 🛳️\n\ttab", (3, 1))


async def test_a_logged_key_returns_the_logged_turn(store: Store) -> None:
    session = await store.start_session(ANA, AT)
    first = await store.append_turns(ANA, session, [utterance_at("one", key="k")])
    again = await store.append_turns(
        ANA, session, [utterance_at("one", 5, key="k"), utterance_at("two", 6)]
    )
    assert again[0] == first[0]
    twice = await store.append_turns(
        ANA, session, [utterance_at("x", 7, key="n"), utterance_at("x", 8, key="n")]
    )
    assert twice[0] == twice[1]
    for _ in range(2):
        edited = await store.append_turns(ANA, session, [utterance_at("changed", 9, key="k")])
        assert edited[0].text == "changed", "the id is known, but not with these words"
    assert [turn.text for turn in await store.turns(ANA)] == ["one", "two", "x", "changed"]


async def test_a_turn_that_comes_late_keeps_its_time(store: Store) -> None:
    session = await store.start_session(ANA, AT)
    await store.append_turns(ANA, session, [utterance_at("later", 10)])
    await store.append_turns(ANA, session, [utterance_at("fine", 11), utterance_at("late", 3)])
    assert [(turn.text, turn.at) for turn in await store.turns(ANA)] == [
        ("later", AT + timedelta(minutes=10)),
        ("fine", AT + timedelta(minutes=11)),
        ("late", AT + timedelta(minutes=3)),
    ]
    await store.end_session(ANA, session, None, METHOD)
    [ended] = await store.sessions(ANA, METHOD)
    assert ended.ended_at == AT + timedelta(minutes=11)


@pytest.mark.parametrize("odd", ["\0", "\ud83d"])
@pytest.mark.parametrize("field", ["text", "speaker", "attachment"])
async def test_odd_characters_are_repaired(store: Store, odd: str, field: str) -> None:
    said: Any = replace(utterance_at("Ship ahoy"), **{field: f"a{odd}b"})
    session = await store.start_session(ANA, AT)
    [turn] = await store.append_turns(ANA, session, [said])
    assert getattr(turn, field) == "a\ufffdb"
    logged = Transcript(key="k", turns=[said], at=AT)
    await store.log_transcript(ANA, logged, METHOD)
    threaded = await store.continue_thread(ANA, "t", [said], method=METHOD)
    assert {getattr(turn, field) for turn in await store.turns(ANA)} == {"a\ufffdb"}
    assert getattr(threaded.turns[0], field) == "a\ufffdb"


@pytest.mark.parametrize(
    ("utterance", "message"),
    [
        (utterance_at("x", key="a\0b"), "NUL or half of a character, at character 2"),
        (utterance_at("x", key="ab\ud800"), "lone surrogate .* at character 3"),
        (utterance_at(" \n"), "empty"),
        (utterance_at("x", speaker=" "), "speaker's name is empty"),
        (utterance_at("x" * (4 * 1024 * 1024 + 1)), "split it"),
        (replace(utterance_at("x"), at=datetime.fromisoformat("2024-01-01")), "no time zone"),
        (replace(utterance_at("x"), at=datetime(1899, 12, 31, tzinfo=UTC)), "year 1899"),
        (replace(utterance_at("x"), at=datetime(2200, 1, 1, tzinfo=UTC)), "year 2200"),
        (
            replace(
                utterance_at("x"), at=datetime.max.replace(tzinfo=timezone(-timedelta(hours=9)))
            ),
            "year",
        ),
        (utterance_at("x", role="bot"), "must be one of user, assistant, system, tool"),
    ],
)
async def test_unstorable_utterances_are_refused(
    store: Store, utterance: Utterance, message: str
) -> None:
    session = await store.start_session(ANA, AT)
    with pytest.raises(BadInput, match=message):
        await store.append_turns(ANA, session, [utterance])
    with pytest.raises(BadInput, match=r"session 'k', turn 2.*" + message):
        await store.log_transcript(
            ANA, Transcript(key="k", turns=[utterance_at("x"), utterance], at=AT), METHOD
        )
    assert await store.turns(ANA) == []


async def test_long_turns_and_turns_without_text_are_logged(store: Store) -> None:
    session = await store.start_session(ANA, AT)
    long = "é" * 500_000
    await store.append_turns(
        ANA, session, [utterance_at(long), utterance_at("", attachment="a photo of a cat")]
    )
    assert [turn.text for turn in await store.turns(ANA)] == [long, ""]


@pytest.mark.parametrize("scope", [Scope(""), Scope("  "), Scope("a\0"), Scope("a", agent="")])
async def test_a_scope_needs_a_name(store: Store, scope: Scope) -> None:
    with pytest.raises(BadInput):
        await store.start_session(scope, AT)


async def test_unknown_scopes_read_as_empty_and_stay_unknown(store: Store) -> None:
    assert await store.turns(ANA) == []
    assert await store.sessions(ANA, METHOD) == []
    assert await store.memories(ANA) == []
    assert await store.links(ANA) == []
    assert (await store.vectors(ANA))[0] == []
    assert await store.pending(METHOD, ANA) == []
    assert await store.costs(ANA) == []
    assert await store.find_journal_entry(ANA, "k") is None
    assert await store.scope_version(ANA) == ScopeVersion()
    assert await store.acquire_lease(ANA, ME, timedelta(hours=1)) is None
    await store.add_journal_entry(ANA, entry("k"))
    with pytest.raises(NotFound):
        await store.append_turns(ANA, 1, [utterance_at("x")])
    assert await store.scopes() == []
    assert _rows(await export(store)) == []


async def test_sessions_open_continue_and_end(store: Store) -> None:
    first = await store.start_session(ANA, AT, key="chat", holder=ME)
    assert await store.start_session(ANA, AT, key="chat", holder=ME) == first
    await store.append_turns(ANA, first, [utterance_at("hello", 5)])
    [session] = await store.sessions(ANA, METHOD)
    assert (session.started_at, session.ended_at) == (AT + timedelta(minutes=5), None)
    assert await store.pending(METHOD) == []
    assert await store.end_session(ANA, first, AT, METHOD)
    assert not await store.end_session(ANA, first, AT, METHOD)
    [session] = await store.sessions(ANA, METHOD)
    assert session.ended_at == AT + timedelta(minutes=5), "no session ends before its last turn"
    assert session.turn_count == 1
    with pytest.raises(NotFound, match="has ended"):
        await store.append_turns(ANA, first, [utterance_at("more", 6)])
    with pytest.raises(BadInput, match="another key"):
        await store.start_session(ANA, AT, key="chat")
    assert [p.session for p in await store.pending(METHOD)] == [first]
    assert [p.session for p in await store.pending("secom", ANA)] == [first]


async def test_an_empty_session_is_deleted_and_its_number_not_reused(store: Store) -> None:
    first = await store.start_session(ANA, AT)
    assert await store.end_session(ANA, first, AT, METHOD)
    assert await store.sessions(ANA, METHOD) == []
    assert await store.start_session(ANA, AT) == first + 1


async def test_default_keys_are_unique_and_sort_by_time(store: Store) -> None:
    for day in (0, 1, 1):
        await store.start_session(ANA, AT + timedelta(days=day))
    keys = [session.key for session in await store.sessions(ANA, METHOD)]
    assert len(set(keys)) == 3
    assert keys == sorted(keys)


async def test_only_sessions_of_dead_processes_are_orphaned(store: Store) -> None:
    host = ME.split(":")[0]
    gone = await store.start_session(ANA, AT, holder=f"{host}:{2**22 + 7}:1")
    living = "elsewhere:1:1"
    await store.renew_holder(living, timedelta(minutes=1))
    for holder in (ME, "", living):
        await store.start_session(ANA, AT, holder=holder)
    result = await store.orphaned_sessions()
    assert [(scope, session.id) for scope, session in result] == [(ANA, gone)]
    assert await store.orphaned_sessions(BEN) == []
    far = await store.start_session(BEN, AT, holder=living)
    assert await store.orphaned_sessions(BEN) == []
    assert [item.id for _, item in await store.orphaned_sessions(BEN, remote=True)] == [far]


async def test_a_session_of_another_machine_is_orphaned_when_its_holder_expires(
    store: Store,
) -> None:
    """Also of a container with the same host name and process id as a living one."""
    host, pid, started = ME.rsplit(":", 2)
    for number, holder in enumerate((f"{host}-other:{pid}:{started}", "odd name"), 1):
        await store.renew_holder(holder, timedelta(minutes=1))
        far = await store.start_session(BEN, AT, holder=holder)
        assert far == number
        assert far not in [item.id for _, item in await store.orphaned_sessions(BEN)]
        await store.renew_holder(holder, timedelta(seconds=-1))
        assert far in [item.id for _, item in await store.orphaned_sessions(BEN)]
        await store.renew_holder(holder, timedelta(minutes=1))
        assert far not in [item.id for _, item in await store.orphaned_sessions(BEN)]
        await store.renew_holder(holder, timedelta(seconds=-1))


async def test_turns_by_session_number_and_last(store: Store) -> None:
    for key in ("a", "b"):
        await store.log_transcript(ANA, transcript(key, *[f"{key}{i}" for i in range(5)]), METHOD)
    await store.log_transcript(BEN, transcript("a", "other"), METHOD)

    async def texts(**which: Any) -> list[str]:
        return [turn.text for turn in await store.turns(ANA, **which)]

    assert await texts(session=2, last=2) == ["b3", "b4"]
    assert await texts(ids=[7, 2, 2, 99]) == ["a1", "b1"]
    assert await texts(ids=[7, 2], session=2) == ["b1"]
    assert await texts(ids=[]) == []
    assert await texts(last=0) == []
    assert len(await texts()) == 10
    assert await store.scopes() == [ANA, BEN]


# transcripts


async def test_logging_a_transcript_twice_changes_nothing(store: Store) -> None:
    first = await store.log_transcript(ANA, transcript("s", "one", "two"), METHOD)
    before = _rows(await export(store))
    again = await store.log_transcript(ANA, transcript("s", "one", "two"), METHOD)
    assert (first.new, first.new_turns) == (True, 2)
    assert (again.new, again.new_turns, again.session) == (False, 0, first.session)
    assert _rows(await export(store)) == before


async def test_a_longer_transcript_adds_its_end_and_is_pending_again(store: Store) -> None:
    await store.log_transcript(ANA, transcript("s", "one", "two"), METHOD)
    await remember(store, ANA, 1, made("m", sources=[1]))
    assert await store.pending(METHOD) == []
    longer = await store.log_transcript(ANA, transcript("s", "one", "two", "three"), METHOD)
    assert longer.new_turns == 1
    assert [p.session for p in await store.pending(METHOD)] == [1]
    turns, _ = await store.pending_input(ANA, 1, METHOD)
    assert [turn.text for turn in turns] == ["three"]
    [session] = await store.sessions(ANA, METHOD)
    assert session.ended_at == turns[0].at


async def test_a_changed_transcript_is_refused_whole(store: Store) -> None:
    await store.log_transcript(ANA, transcript("s", "one", "two"), METHOD)
    before = await export(store)
    with pytest.raises(BadInput, match=r"session 's', turn 2: .*another text"):
        await store.log_transcript(ANA, transcript("s", "one", "2", "three"), METHOD)
    inserted = [utterance_at("zero", key="z"), utterance_at("one", key="#1")]
    with pytest.raises(BadInput, match=r"session 's', turn 1: .*only be added at the end"):
        await store.log_transcript(ANA, Transcript(key="s", turns=inserted, at=AT), METHOD)
    backwards = [utterance_at("a", 5), utterance_at("b", 4)]
    with pytest.raises(BadInput, match=r"session 't', turn 2: .*earlier"):
        await store.log_transcript(ANA, Transcript(key="t", turns=backwards, at=AT), METHOD)
    doubled = [utterance_at("a", key="k"), utterance_at("b", 1, key="k")]
    with pytest.raises(BadInput, match=r"session 't', turn 2: .*keys must differ"):
        await store.log_transcript(ANA, Transcript(key="t", turns=doubled, at=AT), METHOD)
    with pytest.raises(BadInput, match="no turns and no memories"):
        await store.log_transcript(ANA, Transcript(key="t", turns=[], at=AT), METHOD)
    assert await export(store) == before


async def test_a_revised_transcript_keeps_the_log_and_adds_new_turns_at_the_end(
    store: Store,
) -> None:
    await store.log_transcript(ANA, transcript("s", "one", "two"), METHOD)
    turns = [
        utterance_at("zero", -5, key="z"),
        utterance_at("uno", 3, key="#1"),
        utterance_at("last", 9, key="l"),
    ]
    revised = Transcript(key="s", turns=turns, at=AT, metadata={"title": "new"}, revised=True)
    assert (await store.log_transcript(ANA, revised, METHOD)).new_turns == 2
    assert (await store.log_transcript(ANA, revised, METHOD)).new_turns == 0
    logged = await store.turns(ANA)
    assert [turn.text for turn in logged] == ["one", "two", "zero", "last"]
    assert logged[2].at == logged[1].at


async def test_undated_transcripts_match_despite_other_times(store: Store) -> None:
    await store.log_transcript(ANA, transcript("s", "one", "two", dated=False), METHOD)
    later = await store.log_transcript(
        ANA, transcript("s", "one", "two", "three", day=9, dated=False), METHOD
    )
    earlier = await store.log_transcript(
        ANA, transcript("s", "one", "two", "three", "four", day=-9, dated=False), METHOD
    )
    assert (later.new_turns, earlier.new_turns) == (1, 1)
    turns = await store.turns(ANA)
    assert [turn.text for turn in turns] == ["one", "two", "three", "four"]
    assert turns[3].at == turns[2].at


async def test_imported_memories_are_pending_until_remembered(store: Store) -> None:
    ready = [ImportedMemory(text="Ana sails", speakers=("Ana",), source_keys=("#1",))]
    await store.log_transcript(ANA, transcript("s", "hi", memories=ready), METHOD)
    turns, given_ = await store.pending_input(ANA, 1, METHOD)
    assert given_ == ready
    await remember(store, ANA, 1, made("Ana sails"), seen=(turns[-1].id, 1))
    assert await store.pending_input(ANA, 1, METHOD) == ([], [])
    more = [*ready, ImportedMemory(text="Ana swims")]
    await store.log_transcript(ANA, transcript("s", "hi", memories=more), METHOD)
    assert (await store.pending_input(ANA, 1, METHOD))[1] == more[1:]
    assert len(await store.pending(METHOD)) == 1
    other = [ImportedMemory(text="Ana hates water")]
    with pytest.raises(BadInput, match="memory 1"):
        await store.log_transcript(ANA, transcript("s", "hi", memories=other), METHOD)


_words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
_texts = st.lists(_words.filter(str.strip), min_size=1, max_size=8)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@settings(max_examples=15, deadline=None)
@given(texts=_texts, cuts=st.lists(st.integers(1, 8), max_size=4))
def test_any_split_of_a_transcript_gives_the_same_log(
    case: StoreCase, texts: list[str], cuts: list[int]
) -> None:
    async def logged(ends: Sequence[int]) -> list[dict[str, Any]]:
        with TemporaryDirectory() as folder:
            store = case.make(Path(folder))
            await store.open()
            for end in ends:
                await store.log_transcript(ANA, transcript("s", *texts[:end]), METHOD)
            records = _rows(await export(store))
            await store.close()
        return records

    async def check() -> None:
        assert await logged([*sorted(cuts), len(texts)]) == await logged([len(texts)])

    anyio.run(check)


# remembering


async def test_commit_makes_everything_visible_at_once_and_only_once(store: Store) -> None:
    await store.log_transcript(ANA, transcript("s", "one", "two"), METHOD)
    await store.log_transcript(ANA, transcript("t", "three", day=1), METHOD)
    first = await remember(store, ANA, 1, made("m1", "m2", sources=[2, 1]))
    link = NewLink(older=1, newer=0, relation=Relation.CAUSE, explanation="so", similarity=0.5)
    second = await remember(store, ANA, 2, made("m3", links=[link]))
    assert [memory.id for memory in first + second] == [1, 2, 3]
    assert first[0].source_turns == (1, 2)
    assert first[0].session_ended_at == (await store.sessions(ANA, METHOD))[0].ended_at
    assert await remember(store, ANA, 2, made("again")) == []
    assert await store.memories(ANA) == first + second
    assert await store.memories(ANA, after=2) == second
    assert await store.memories(ANA, method="secom") == []
    [stored] = await store.links(ANA)
    assert (stored.older, stored.newer, stored.relation) == (1, 3, Relation.CAUSE)
    assert (stored.explanation, stored.similarity) == ("so", 0.5)
    assert await store.links(ANA, after=3) == []
    numbers, vectors = await store.vectors(ANA, method=METHOD)
    assert numbers == [1, 2, 3]
    np.testing.assert_allclose(vectors[:2], unit(2), atol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert await store.active_embedder() == ("test", 16)
    state = await store.scope_version(ANA)
    assert (state.memories, state.turns, state.embedder) == (3, 3, "test")
    assert all(session.remembered_at == AT for session in await store.sessions(ANA, METHOD))


async def test_a_memory_keeps_its_utc_offset(store: Store, tmp_path: Path) -> None:
    await store.log_transcript(ANA, transcript("s", "one"), METHOD)
    [first] = await remember(store, ANA, 1, made("m1", sources=[1]))
    [stored] = await store.memories(ANA, ids=[1, 1, 7])
    assert stored == first
    assert (stored.at.isoformat(), first.at.isoformat()) == (AT.isoformat(),) * 2
    assert await store.memories(ANA, ids=[]) == []
    [record] = [item for item in await export(store) if item["type"] == "memory"]
    assert record["at"] == AT.isoformat()
    assert record["made_at"].endswith("+00:00")
    older = {**record, "at": stored.at.astimezone(UTC).isoformat()}  # as exports once had it
    for number, item in enumerate([record, older]):
        copy = open_store(str(tmp_path / f"{number}.db"))
        await copy.open()
        await copy.restore([item], partial=True)
        assert [memory.at for memory in await copy.memories(ANA)] == [AT]
        assert [memory.at.isoformat() for memory in await copy.memories(ANA)] == [item["at"]]
        await copy.close()


async def test_turns_logged_while_remembering_stay_pending(store: Store) -> None:
    await store.log_transcript(ANA, transcript("s", "one"), METHOD)
    turns, _ = await store.pending_input(ANA, 1, METHOD)
    await store.log_transcript(ANA, transcript("s", "one", "two"), METHOD)
    assert await remember(store, ANA, 1, made("m"), seen=(turns[-1].id, 0))
    assert await remember(store, ANA, 1, made("m"), seen=(turns[-1].id, 0)) == []
    left, _ = await store.pending_input(ANA, 1, METHOD)
    assert [turn.text for turn in left] == ["two"]
    assert len(await store.pending(METHOD)) == 1
    assert await remember(store, ANA, 1, made("n"), seen=(left[-1].id, 0))
    assert await store.pending(METHOD) == []


async def test_memories_of_a_batch_are_linked_and_keep_their_cues(store: Store) -> None:
    await store.log_transcript(ANA, transcript("s", "one"), METHOD)
    await store.log_transcript(ANA, transcript("t", "two", day=1), METHOD)
    await remember(store, ANA, 1, made("m"))
    links = [
        NewLink(older=1, newer=1, relation=Relation.FULFILLED),
        NewLink(older=0, newer=1, relation=Relation.CORRECTED, within_batch=True),
    ]
    batch = made("n", "o", links=links)
    cued = [replace(batch.memories[0], cues=("boat", "Kahn")), batch.memories[1]]
    await remember(store, ANA, 2, replace(batch, memories=cued))
    assert [memory.cues for memory in await store.memories(ANA)] == [(), ("boat", "Kahn"), ()]
    assert {(link.older, link.newer, link.relation) for link in await store.links(ANA)} == {
        (1, 3, Relation.FULFILLED),
        (2, 3, Relation.CORRECTED),
    }


@pytest.mark.parametrize(("older", "newer"), [(0, 0), (1, 0), (2, 1), (-1, 1), (0, 2)])
async def test_links_within_a_batch_run_from_an_older_to_a_newer_one(
    store: Store, older: int, newer: int
) -> None:
    await store.log_transcript(ANA, transcript("s", "one"), METHOD)
    link = NewLink(older=older, newer=newer, relation=None, within_batch=True)
    with pytest.raises(BadInput, match="does not exist"):
        await remember(store, ANA, 1, made("m", "n", links=[link]))
    assert await store.memories(ANA) == []


async def test_an_inconsistent_batch_changes_nothing(store: Store) -> None:
    await store.log_transcript(ANA, transcript("s", "one"), METHOD)
    await store.log_transcript(ANA, transcript("t", "two", day=1), METHOD)
    await remember(store, ANA, 1, made("m"))
    before = await export(store)
    stranger = NewLink(older=9, newer=0, relation=None)
    beyond = NewLink(older=1, newer=1, relation=None)
    for links in ([stranger], [beyond], [NewLink(older=1, newer=0, relation=None)] * 2):
        with pytest.raises(BadInput):
            await remember(store, ANA, 2, made("n", links=links))
    with pytest.raises(BadInput, match="1 memories came with 2 vectors"):
        await remember(store, ANA, 2, replace(made("n"), vectors=unit(2)))
    with pytest.raises(EmbedderMismatch, match="reembed"):
        await remember(store, ANA, 2, made("n"), embedder="other")
    with pytest.raises(EmbedderMismatch):
        await remember(store, ANA, 2, replace(made("n"), vectors=unit(1, 8)))
    with pytest.raises(LeaseLost):
        await remember(store, ANA, 2, made("n"), lease=1)
    with pytest.raises(NotFound):
        await remember(store, ANA, 7, made("n"))
    with pytest.raises(NotFound):
        await store.commit_batch(BEN, 1, METHOD, made("n"), embedder="test", lease=1, at=AT)
    assert await export(store) == before


async def test_an_empty_batch_marks_the_session_as_remembered(store: Store) -> None:
    await store.log_transcript(ANA, transcript("s", "one"), METHOD)
    assert await remember(store, ANA, 1, MemoryBatch()) == []
    assert await store.pending(METHOD) == []
    assert await store.active_embedder() is None


async def test_failures_are_counted_until_success(store: Store) -> None:
    await store.log_transcript(ANA, transcript("s", "one"), METHOD)
    lease = await store.acquire_lease(ANA, ME, timedelta(hours=1)) or 0
    for reason in ("no answer", "still none"):
        await store.record_failure(ANA, 1, METHOD, reason, lease=lease)
    [waiting] = await store.pending(METHOD)
    assert (waiting.attempts, waiting.failure) == (2, "still none")
    assert (await store.sessions(ANA, METHOD))[0].failure == "still none"
    await remember(store, ANA, 1, made("m"))
    assert (await store.sessions(ANA, METHOD))[0].failure is None
    await store.record_failure(ANA, 99, METHOD, "of a forgotten session", lease=lease)
    await store.record_failure(BEN, 1, METHOD, "of a forgotten user", lease=lease)


async def test_scopes_are_isolated(store: Store) -> None:
    others = [Scope("ana", agent="b"), Scope("ana", tenant="c"), BEN]
    for scope in [ANA, *others]:
        await store.log_transcript(scope, transcript("s", str(scope)), METHOD)
        await remember(store, scope, 1, made(str(scope)))
        await store.add_journal_entry(scope, entry("k", reply=str(scope)))
    for scope in [ANA, *others]:
        assert [turn.text for turn in await store.turns(scope)] == [str(scope)]
        assert [memory.text for memory in await store.memories(scope)] == [str(scope)]
        result = await store.find_journal_entry(scope, "k")
        assert result is not None
        assert result.reply == str(scope)


# the journal


async def test_usable_entries_are_found_and_rejected_ones_are_not(store: Store) -> None:
    await store.log_transcript(ANA, transcript("s", "one"), METHOD)
    usable = entry("k", prompt="p", reply="r", settings={"t": 0}, session=1, touches=(1,), cost=0.5)
    await store.add_journal_entry(ANA, usable)
    assert await store.find_journal_entry(ANA, "k") == replace(usable, at=AT.astimezone(UTC))
    await store.reject_journal_entries(ANA, ["k", "unknown"], "wrong schema")
    assert await store.find_journal_entry(ANA, "k") is None
    await store.add_journal_entry(ANA, entry("k", reply="better", session=1, cost=0.25))
    await store.add_journal_entry(ANA, entry("k", error="time-out", rejected=True, session=1))
    result = await store.find_journal_entry(ANA, "k")
    assert result is not None
    assert result.reply == "better"
    await store.retire_journal_entry(ANA, "k")
    await store.retire_journal_entry(ANA, "unknown")
    assert await store.find_journal_entry(ANA, "k") is None
    [line] = await store.costs()
    assert (line.calls, line.failed, line.cost) == (3, 2, 0.75)


async def test_an_entry_added_twice_counts_once_and_a_second_answer_counts(store: Store) -> None:
    await store.log_transcript(ANA, transcript("s", "one"), METHOD)
    for _ in range(2):
        await store.add_journal_entry(ANA, entry("k", reply="a", input_tokens=5))
    await store.add_journal_entry(
        ANA, entry("k", reply="b", input_tokens=7, at=AT + timedelta(seconds=1))
    )
    result = await store.find_journal_entry(ANA, "k")
    assert result is not None
    assert result.reply == "a"
    [line] = await store.costs(ANA)
    assert (line.calls, line.input_tokens) == (2, 12)


async def test_costs_sum_what_is_known(store: Store) -> None:
    await store.log_transcript(ANA, transcript("s", "one"), METHOD)
    await store.add_journal_entry(ANA, entry("a", cost=None, session=1))
    await store.add_journal_entry(ANA, entry("b", step="refine", cost=None))
    await store.add_journal_entry(ANA, entry("c", step="refine", cost=0.5, seconds=2.0))
    lines = {(line.session, line.step): line for line in await store.costs(ANA)}
    assert lines[1, "relate"].cost is None
    assert lines[None, "refine"].cost == 0.5
    assert lines[None, "refine"].seconds == 2.0
    assert lines[None, "refine"].calls == 2


async def test_unstorable_replies_are_escaped(store: Store) -> None:
    await store.log_transcript(ANA, transcript("s", "one"), METHOD)
    await store.add_journal_entry(ANA, entry("k", reply='{"a": "\ud83d\0"}'))
    result = await store.find_journal_entry(ANA, "k")
    assert result is not None
    assert result.reply == '{"a": "\\ud83d\\u0000"}'
    assert json.loads(result.reply) == {"a": "\ud83d\0"}


# forgetting


async def _life(store: Store) -> None:
    """Two remembered sessions whose every text is a cormorant of its own."""
    ready = [ImportedMemory(text="cormorant-given-first")]
    turns = [
        utterance_at("cormorant-turn-one", attachment="cormorant-shared-one"),
        utterance_at("cormorant-turn-two", 1),
    ]
    first = Transcript(key="cormorant-key-first", turns=turns, at=AT, memories=ready)
    await store.log_transcript(ANA, first, METHOD)
    await store.log_transcript(ANA, transcript("second", "kept-turn-three", day=1), METHOD)
    await remember(store, ANA, 1, made("cormorant-memory-one", sources=[1]))
    link = NewLink(older=1, newer=0, relation=None, explanation="cormorant-explanation")
    await remember(store, ANA, 2, made("kept-memory-two", sources=[3], links=[link]))
    words = {"prompt": "cormorant-prompt", "reply": "cormorant-reply", "error": "cormorant-error"}
    await store.add_journal_entry(ANA, entry("k1", session=1, touches=(1,), **words))
    await store.add_journal_entry(
        ANA, entry("k2", session=2, touches=(1, 2), reply="cormorant-reply-two")
    )
    await store.add_journal_entry(ANA, entry("k3", session=2, touches=(2,), reply="kept-reply"))


def _grep(folder: Path, word: bytes) -> list[str]:
    return [path.name for path in folder.iterdir() if word in path.read_bytes()]


async def test_forgetting_a_session_leaves_no_byte_of_it(
    store: Store, store_case: StoreCase, tmp_path: Path
) -> None:
    other = store_case.make(tmp_path)
    await other.open()
    await _life(store)
    assert len(await other.turns(ANA)) == 3
    epoch = (await store.scope_version(ANA)).epoch
    receipt = await store.forget(ANA, session=1)
    counts = (receipt.sessions, receipt.turns, receipt.memories, receipt.links)
    assert (counts, receipt.vectors, receipt.journal) == ((1, 2, 1, 1), 1, 2)
    assert receipt.verified or receipt.remaining
    assert [memory.text for memory in await store.memories(ANA)] == ["kept-memory-two"]
    assert [turn.text for turn in await other.turns(ANA)] == ["kept-turn-three"]
    assert (await store.scope_version(ANA)).epoch > epoch
    assert await store.find_journal_entry(ANA, "k2") is None, "wordless entries are never replayed"
    assert await store.find_journal_entry(ANA, "k3") is not None
    assert sum(line.calls for line in await store.costs(ANA)) == 3, "the accounts stay"
    if store_case.files:
        assert _grep(tmp_path, b"cormorant") == []
        assert _grep(tmp_path, b"kept-turn-three")
    await other.close()


async def test_forgetting_a_user_leaves_nothing_and_reuses_no_number(
    store: Store, store_case: StoreCase, tmp_path: Path
) -> None:
    await store.log_transcript(BEN, transcript("s", "kept-of-ben"), METHOD)
    await _life(store)
    before = (await store.scope_version(ANA)).scope_id
    receipt = await store.forget(ANA)
    assert receipt.verified or receipt.remaining
    assert (receipt.sessions, receipt.turns, receipt.memories, receipt.journal) == (2, 3, 2, 3)
    assert await store.scopes() == [BEN]
    with pytest.raises(NotFound):
        await store.forget(ANA)
    if store_case.files:
        assert _grep(tmp_path, b"cormorant") == []
        assert _grep(tmp_path, b"kept-turn-three") == []
    await store.start_session(ANA, AT)
    assert (await store.scope_version(ANA)).scope_id > before


async def test_forgetting_a_memory_erases_its_sources_unless_shared(
    store: Store, store_case: StoreCase, tmp_path: Path
) -> None:
    ready = [ImportedMemory(text="cormorant-memory")]
    turns = ["cormorant-alone", "kept-shared-turn", "kept-other"]
    await store.log_transcript(ANA, transcript("s", *turns, memories=ready), METHOD)
    both = [
        NewMemory(text="cormorant-memory", at=AT, source_turns=(1, 2)),
        NewMemory(text="kept-memory", at=AT, source_turns=(2,)),
    ]
    await remember(store, ANA, 1, MemoryBatch(memories=both, vectors=unit(2)))
    await store.add_journal_entry(
        ANA, entry("k", session=1, touches=(1,), prompt="cormorant-prompt")
    )
    receipt = await store.forget(ANA, memory=1)
    assert receipt.verified or receipt.remaining
    assert (receipt.memories, receipt.turns, receipt.journal) == (1, 1, 1)
    assert len(receipt.kept) == 1
    assert "turn 2" in receipt.kept[0]
    assert "memory 2" in receipt.kept[0]
    assert [turn.text for turn in await store.turns(ANA)] == turns[1:]
    if store_case.files:
        assert _grep(tmp_path, b"cormorant") == []


async def test_forgetting_something_unknown_is_an_error(store: Store) -> None:
    await store.log_transcript(ANA, transcript("s", "one"), METHOD)
    with pytest.raises(NotFound):
        await store.forget(ANA, session=9)
    with pytest.raises(NotFound):
        await store.forget(ANA, memory=9)
    with pytest.raises(BadInput):
        await store.forget(ANA, session=1, memory=1)


async def test_erased_text_is_not_written_back(store: Store) -> None:
    await _life(store)
    await store.log_transcript(ANA, transcript("third", "three", day=2), METHOD)
    lease = await store.acquire_lease(ANA, ME, timedelta(hours=1)) or 0
    await store.record_failure(ANA, 3, METHOD, "cormorant-failure", lease=lease)
    await store.forget(ANA, session=1)
    with pytest.raises(LeaseLost):
        await store.commit_batch(ANA, 3, METHOD, made("x"), embedder="test", lease=lease, at=AT)
    await store.add_journal_entry(ANA, entry("late", session=1, reply="cormorant-late"))
    await store.add_journal_entry(
        ANA, entry("later", session=2, touches=(1, 2), reply="cormorant-later")
    )
    assert "cormorant" not in json.dumps(await export(store))
    assert await store.find_journal_entry(ANA, "later") is None


async def test_erasing_is_verified_if_another_user_has_the_same_text(store: Store) -> None:
    await store.log_transcript(ANA, transcript("s", "we both said these very words"), METHOD)
    await store.log_transcript(BEN, transcript("s", "we both said these very words"), METHOD)
    receipt = await store.forget(ANA)
    assert receipt.verified or receipt.remaining


@pytest.mark.parametrize("text", ["remembering", METHOD, "CREATE TABLE", "default embedder"])
async def test_erasing_is_verified_if_the_store_uses_the_same_words(
    store: Store, text: str
) -> None:
    await store.log_transcript(BEN, transcript("s", "hello"), METHOD)
    await remember(store, BEN, 1, made("hello"), embedder="the default embedder")
    await store.log_transcript(ANA, transcript("s", text), METHOD)
    receipt = await store.forget(ANA)
    assert receipt.verified or receipt.remaining


# upkeep


async def test_reembedding_resumes_and_switches_when_complete(store: Store) -> None:
    for number, key in enumerate("ab", 1):
        await store.log_transcript(ANA, transcript(key, key, day=number), METHOD)
    await remember(store, ANA, 1, made("m1", "m2", "m3"))
    batch, left = await store.unembedded_memories("new", 2)
    assert ([(scope, number) for scope, number, _ in batch], left) == ([(ANA, 1), (ANA, 2)], 3)
    await store.add_vectors("new", [(ANA, 1), (ANA, 2), (ANA, 77), (BEN, 1)], unit(4, 8))
    assert not await store.switch_embedder("new", 8)
    await remember(store, ANA, 2, made("m4"))
    batch, left = await store.unembedded_memories("new", 9)
    assert ([text for _, _, text in batch], left) == (["m3", "m4"], 2)
    await store.add_vectors("new", [(scope, number) for scope, number, _ in batch], unit(2, 8))
    epoch = (await store.scope_version(ANA)).epoch
    assert await store.switch_embedder("new", 8)
    assert await store.active_embedder() == ("new", 8)
    numbers, vectors = await store.vectors(ANA)
    assert (numbers, vectors.shape) == ([1, 2, 3, 4], (4, 8))
    np.testing.assert_allclose(vectors[:2], unit(4, 8)[:2], atol=1e-3)
    assert (await store.scope_version(ANA)).epoch > epoch
    assert await store.unembedded_memories("test", 9) != ([], 0), "the old vectors are gone"
    with pytest.raises(EmbedderMismatch):
        await store.add_vectors("new", [(ANA, 1)], unit(1, 4))


async def test_the_first_vectors_that_are_added_later_are_in_use(
    store: Store, store_case: StoreCase, tmp_path: Path
) -> None:
    await _life(store)
    records = [item for item in await export(store) if item["type"] != "vector"]
    await store.forget(ANA)
    with pytest.raises(BadInput, match="ana was forgotten in this store"):
        await store.restore(records, partial=True)
    store = store_case.make(tmp_path / "copy")
    await store.open()
    await store.restore(records, partial=True)
    assert await store.active_embedder() is None
    owners = [
        (scope, number) for scope, number, _ in (await store.unembedded_memories("test", 9))[0]
    ]
    await store.add_vectors("test", owners, unit(len(owners)))
    assert await store.active_embedder() == ("test", 16)
    assert await store.switch_embedder("test", 16)
    numbers, vectors = await store.vectors(ANA)
    assert numbers == sorted(number for scope, number in owners if scope == ANA)
    assert len(numbers) == len(vectors) > 0
    await store.close()


@pytest.mark.slow
async def test_an_export_is_restored_without_loss(
    store: Store, store_case: StoreCase, tmp_path: Path
) -> None:
    await _life(store)
    opened = await store.start_session(BEN, AT, holder=ME)
    await store.append_turns(BEN, opened, [utterance_at("open talk")])
    records = json.loads(json.dumps(await export(store)))
    copy = store_case.make(tmp_path / "copy")
    await copy.open()
    assert (await copy.restore(records)).new == len(records) - 2
    assert await export(copy) == records
    assert await copy.restore(records) == Restored()
    np.testing.assert_array_equal((await copy.vectors(ANA))[1], (await store.vectors(ANA))[1])
    assert await copy.memories(ANA) == await store.memories(ANA)
    assert await copy.sessions(ANA, METHOD) == await store.sessions(ANA, METHOD)
    await copy.append_turns(BEN, opened, [utterance_at("goes on", 1)])
    assert await copy.start_session(ANA, AT) == await store.start_session(ANA, AT)
    await copy.close()


HELD = r"is not empty here \(sessions: \d+, turns: \d+, memories: \d+\)"
EMPTY = "restore it into an empty store"
FORGET = f"{EMPTY}, or forget ana here first"


def _only(records: list[dict[str, Any]], type_: str) -> dict[str, Any]:
    return next(record for record in records if record["type"] == type_)


@pytest.mark.parametrize(
    ("kind", "partial", "advice"),
    [
        ("of another store", False, FORGET),
        ("changed in both", False, EMPTY),
        ("a part of another store", True, EMPTY),
        ("without a version", True, EMPTY),
        ("a changed record", True, EMPTY),
        ("another number", True, EMPTY),
    ],
)
async def test_what_a_scope_does_not_hold_is_refused_whole(
    store: Store, store_case: StoreCase, tmp_path: Path, kind: str, partial: bool, advice: str
) -> None:
    other = store_case.make(tmp_path / "other")
    await other.open()
    await _life(store)
    records = await export(store)
    turn = _only(records, "turn")
    if kind == "changed in both":
        await other.restore(records)
    for changed in (store, other):
        await changed.log_transcript(ANA, transcript(f"of {id(changed)}", "new", day=9), METHOD)
    theirs = [record async for record in other.export(ANA)]
    given = {
        "a part of another store": [_only(theirs, "turn")],
        "without a version": [
            {name: value for name, value in record.items() if name != "versions"}
            for record in theirs
            if record["type"] != "end"
        ],
        "a changed record": [turn, {**turn, "text": "forged"}][1:],
        "another number": [{**turn, "id": 50}],
    }.get(kind, theirs)
    eve = {"type": "scope", "scope": {"user": "eve"}, "next_session": 1, "next_turn": 1}
    before = await export(store)
    with pytest.raises(BadInput, match=f"^ana {HELD}.*; {advice}$"):
        await store.restore([*given, {**eve, "next_memory": 1}], partial=True)
    assert await export(store) == before
    if advice == FORGET:
        await store.forget(ANA)
        await store.restore(given)
        assert [record async for record in store.export(ANA)] == theirs
    await other.close()
    empty = store_case.make(tmp_path / "empty")
    await empty.open()
    assert (await empty.restore(given, partial=partial)).new
    await empty.close()


async def test_what_a_scope_holds_is_restored_again_without_effect(
    store: Store, store_case: StoreCase, tmp_path: Path
) -> None:
    """Whatever came of it since: a part, and an export without versions, which tell nothing."""
    await _life(store)
    whole = await export(store)
    unversioned = [
        {name: value for name, value in record.items() if name != "versions"}
        for record in whole
        if record["type"] != "end"
    ]
    for number, records in enumerate((whole, whole[:-1], whole[2:9], unversioned)):
        copy = store_case.make(tmp_path / f"copy{number}")
        await copy.open()
        assert (await copy.restore(records, partial=True)).new
        await copy.log_transcript(ANA, transcript("later", "new", day=9), METHOD)
        before = await export(copy)
        assert (await copy.restore(records, partial=True)) == Restored()
        assert await export(copy) == before
        await copy.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"type": "tune"}, "unknown type"),
        ({"at": "yesterday"}, "ISO 8601"),
        ({"at": "2024-01-01T00:00:00"}, "time zone"),
        ({"id": -1}, "whole number"),
        ({"id": True}, "whole number"),
        ({"text": None}, "text must be a string"),
        ({"text": "a\0"}, "NUL"),
        ({"recalled": "3"}, "must be a list"),
        ({"role": "narrator"}, "role"),
        ({"surplus": 1}, "unknown fields: surplus"),
        ({"scope": {"user": ""}}, "empty"),
        ({"scope": "ana"}, "needs a scope"),
    ],
)
async def test_a_malformed_record_is_named(
    store: Store, change: dict[str, Any], message: str
) -> None:
    await store.log_transcript(ANA, transcript("s", "one"), METHOD)
    [turn] = [record for record in await export(store) if record["type"] == "turn"]
    with pytest.raises(BadInput, match=f"record 2: .*{message}"):
        await store.restore([turn, {**turn, **change}])
    with pytest.raises(BadInput, match="missing fields: text"):
        await store.restore([{name: turn[name] for name in turn if name != "text"}])
    with pytest.raises(BadInput, match="update theanine"):
        await store.restore([{"type": "theanine", "format": 9}])


def _rows(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = [record for record in records if record["type"] not in ("theanine", "end")]
    return [{name: row[name] for name in row if name != "versions"} for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@settings(max_examples=12, deadline=None)
@given(
    texts=_texts, explanation=_words, offset=st.integers(-14 * 60, 14 * 60), cut=st.integers(1, 40)
)
def test_any_store_survives_the_round_trip(
    case: StoreCase, texts: list[str], explanation: str, offset: int, cut: int
) -> None:
    async def fill(store: Store) -> None:
        zone = timezone(timedelta(minutes=offset))
        turns = [Utterance(text=text, speaker="Ana", at=AT.astimezone(zone)) for text in texts]
        await store.log_transcript(ANA, Transcript(key="a", turns=turns, at=AT), METHOD)
        await store.log_transcript(ANA, transcript("b", *texts, day=1), METHOD)
        await remember(store, ANA, 1, made(*texts, sources=[1]))
        link = NewLink(older=1, newer=0, relation=None, explanation=explanation, similarity=0.1)
        new = NewMemory(text=texts[0], at=AT, source_turns=(), speakers=tuple(texts[:3]))
        await remember(store, ANA, 2, MemoryBatch(memories=[new], vectors=unit(1), links=[link]))

    async def check() -> None:
        with TemporaryDirectory() as item, TemporaryDirectory() as two:
            store, copy = case.make(Path(item)), case.make(Path(two))
            await store.open()
            await copy.open()
            await fill(store)
            records = json.loads(json.dumps(await export(store)))
            await copy.restore(records[:cut], partial=True)
            await copy.restore(records)  # what was cut off is completed by the whole
            assert _rows(await export(copy)) == _rows(records)
            await store.close()
            await copy.close()

    anyio.run(check)


async def test_many_tasks_at_once_lose_nothing(store: Store) -> None:
    sessions = [await store.start_session(ANA, AT) for _ in range(8)]

    async def speak(session: int) -> None:
        for i in range(5):
            await store.append_turns(ANA, session, [utterance_at(f"{session}-{i}", i)])

    async with anyio.create_task_group() as group:
        for session in sessions:
            group.start_soon(speak, session)
    turns = await store.turns(ANA)
    assert [turn.id for turn in turns] == list(range(1, 41))
    assert len({turn.text for turn in turns}) == 40


async def test_a_cancelled_call_is_complete_or_not_begun(store: Store) -> None:
    session = await store.start_session(ANA, AT)
    for i in range(10):
        with anyio.move_on_after(0.0005 * i):
            await store.append_turns(
                ANA, session, [utterance_at(f"{i}a", i), utterance_at(f"{i}b", i)]
            )
    texts = [turn.text for turn in await store.turns(ANA)]
    assert [text[:-1] for text in texts[::2]] == [text[:-1] for text in texts[1::2]]
    assert len(await store.append_turns(ANA, session, [utterance_at("after", 99)])) == 1


async def test_a_tenants_retention_changes_no_scope(store: Store) -> None:
    await store.start_session(ANA, AT)
    before = await store.export_versions()
    for days in (30, 60, None):
        retention = None if days is None else timedelta(days=days)
        await store.set_retention("acme", retention)
        assert (await store.settings("acme")).retention == retention
    assert await store.export_versions() == before
