"""The store's contract for derived memories, marks, notes and tombstones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theanine.errors import BadInput
from theanine.store import Store
from theanine.types import ImportedMemory, MemoryBatch, NewMark, NewMemory, Scope

from .conftest import NAMES, STORES, StoreCase
from .test_store import ANA, AT, METHOD, export, remember, transcript, unit, utterance_at

pytestmark = pytest.mark.anyio


def batch(
    *memories: tuple[str, Sequence[int], Sequence[int], Sequence[int]],
    marks: Sequence[NewMark] = (),
) -> MemoryBatch:
    """Memories as (text, turns, stored origins, origins beside)."""
    made = [
        NewMemory(
            text=text,
            at=AT,
            source_turns=tuple(turns),
            derived_from=tuple(of),
            derived_from_new=tuple(beside),
        )
        for text, turns, of, beside in memories
    ]
    return MemoryBatch(memories=made, vectors=unit(len(made)), marks=marks)


async def summaries(store: Store, count: int, scope: Scope = ANA) -> list[int]:
    """Sessions of one turn, each with a statement and a summary made of it and of the last."""
    last, sessions = 0, list[int]()
    for n in range(count):
        done = await store.log_transcript(
            scope, transcript(f"s{n}", f"secret{n} words", day=n), METHOD
        )
        turn = (await store.turns(scope, session=done.session))[0].id
        of, marks = ((last,), [NewMark(memory=last, kind="superseded", by=1)]) if last else ((), [])
        parts = [(f"statement of secret{n}", (turn,), (), ()), (f"summary {n}", (), of, (0,))]
        made = await remember(store, scope, done.session, batch(*parts, marks=marks))
        last = made[-1].id
        sessions.append(done.session)
    return sessions


@pytest.mark.slow
async def test_provenance_and_marks_are_stored(store: Store) -> None:
    await summaries(store, 3)
    result = await store.memories(ANA)
    assert [memory.derived_from for memory in result] == [(), (1,), (), (2, 3), (), (4, 5)]
    marks = await store.marks(ANA, method=METHOD)
    assert [(mark.memory, mark.by, mark.session) for mark in marks] == [(2, 4, 2), (4, 6, 3)]
    assert {mark.kind for mark in marks} == {"superseded"}
    assert await store.marks(ANA, after=1) == marks[1:]
    assert await store.marks(ANA, method="another") == []
    assert (await store.scope_version(ANA)).marks == 2


async def test_forgetting_a_session_erases_derived_memories_and_makes_their_sessions_pending(
    store: Store,
) -> None:
    sessions = await summaries(store, 4)
    receipt = await store.forget(ANA, session=sessions[1])
    assert receipt.verified or receipt.remaining
    assert receipt.pending_again == 2
    assert receipt.memories == 6
    assert [memory.text for memory in await store.memories(ANA)] == [
        "statement of secret0",
        "summary 0",
    ]
    assert await store.marks(ANA) == []
    waiting = await store.pending(METHOD, ANA)
    assert [item.session for item in waiting] == sessions[2:]
    turns, _ = await store.pending_input(ANA, sessions[2], METHOD)
    assert [turn.text for turn in turns] == ["secret2 words"]


async def test_forgetting_a_memory_does_not_make_its_own_session_pending(store: Store) -> None:
    sessions = await summaries(store, 3)
    receipt = await store.forget(ANA, memory=3)  # the second session's statement
    assert receipt.pending_again == 1
    assert [memory.id for memory in await store.memories(ANA)] == [1, 2]
    assert [item.session for item in await store.pending(METHOD, ANA)] == [sessions[2]]


async def test_a_mark_is_erased_with_the_memories_it_names(store: Store) -> None:
    for n in range(3):
        await store.log_transcript(ANA, transcript(f"s{n}", f"words {n}", day=n), METHOD)
    await remember(store, ANA, 1, batch(("old", (1,), (), ())))
    marks = [NewMark(memory=1, kind="withdrawn", reason="no longer so")]
    await remember(store, ANA, 2, batch(("new", (2,), (), ()), marks=marks))
    newer = [NewMark(memory=2, kind="superseded", by=0)]
    await remember(store, ANA, 3, batch(("newer", (3,), (), ()), marks=newer))
    await store.forget(ANA, session=3)
    assert [(m.memory, m.kind, m.reason) for m in await store.marks(ANA)] == [
        (1, "withdrawn", "no longer so")
    ]
    await store.forget(ANA, session=2)
    assert await store.marks(ANA) == []
    assert [memory.text for memory in await store.memories(ANA)] == ["old"]


@pytest.mark.parametrize(
    ("what", "complaint"),
    [
        (batch(("a", (), (9,), ())), "derived from memory 9"),
        (batch(("a", (), (), (0,))), "derived from new memory 0"),
        (batch(("a", (), (), ()), marks=[NewMark(memory=9, kind="withdrawn")]), "memory 9"),
        (batch(marks=[NewMark(memory=9, kind="withdrawn", by=3)]), "new memory 3"),
    ],
)
async def test_unknown_provenance_is_refused(
    store: Store, what: MemoryBatch, complaint: str
) -> None:
    await store.log_transcript(ANA, transcript("s", "words"), METHOD)
    with pytest.raises(BadInput, match=complaint):
        await remember(store, ANA, 1, what)
    assert await store.memories(ANA) == []


async def test_turns_keep_notes_and_recalls(store: Store) -> None:
    session = await store.start_session(ANA, AT)
    plain = utterance_at("hello")
    reminded = utterance_at("I know", 1, role="assistant", recalled=(4, 2), notes={"worth": "yes"})
    heard = await store.append_turns(ANA, session, [plain, reminded])
    assert await store.turns(ANA) == heard
    assert heard[1].notes == {"worth": "yes"}
    assert await store.turns_with_recalls(ANA) == [heard[1]]
    assert await store.turns_with_recalls(ANA, after=heard[1].id) == []


async def test_tombstones_block_reimport(store: Store) -> None:
    texts = ["first secret", "plain", "last secret"]
    memories = [ImportedMemory(text="the secret"), ImportedMemory(text="other")]
    whole = transcript("s", *texts, memories=memories)
    await store.log_transcript(ANA, whole, METHOD)
    made = batch(("the secret", (1, 3), (), ()), ("other", (2,), (), ()))
    await remember(store, ANA, 1, made)
    receipt = await store.forget(ANA, memory=1)
    assert receipt.verified or receipt.remaining
    again = await store.log_transcript(ANA, whole, METHOD)
    assert (again.new_turns, again.new_memories, again.forgotten) == (0, 0, 3)
    assert [turn.text for turn in await store.turns(ANA)] == ["plain"]
    assert await store.pending(METHOD, ANA) == []
    longer = transcript("s", *texts, "more", memories=memories)
    assert (await store.log_transcript(ANA, longer, METHOD)).new_turns == 1
    assert [turn.text for turn in await store.turns(ANA)] == ["plain", "more"]


async def test_turns_that_recalled_a_forgotten_memory_are_reported(store: Store) -> None:
    await summaries(store, 1)
    session = await store.start_session(ANA, AT)
    await store.append_turns(
        ANA, session, [utterance_at("You told me secret0", 9, role="assistant", recalled=(1,))]
    )
    receipt = await store.forget(ANA, memory=1)
    assert any(f"of session {session}) after recalling it" in kept for kept in receipt.kept)


async def test_provenance_marks_and_tombstones_are_exported_and_restored(
    store_case: StoreCase, tmp_path: Any
) -> None:
    item, two = store_case.make(tmp_path / "a"), store_case.make(tmp_path / "b")
    await item.open()
    await two.open()
    await summaries(item, 3)
    await item.forget(ANA, memory=5)
    records = await export(item)
    assert {"mark", "erased"} <= {record["type"] for record in records}
    assert (await two.restore(records)).new > 0
    assert (await two.restore(records)).new == 0
    assert await export(two) == records
    older = [
        {name: value for name, value in record.items() if name not in ("origins", "notes")}
        for record in records
        if record["type"] not in ("mark", "erased", "end")
    ]
    three = store_case.make(tmp_path / "c")
    await three.open()
    assert (await three.restore(older, partial=True)).new > 0
    for made in (item, two, three):
        await made.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15, deadline=None)
@given(
    origins=st.lists(st.sets(st.integers(0, 7)), min_size=2, max_size=8),
    forgotten=st.integers(0, 7),
)
async def test_no_memory_derived_from_an_erased_one_is_left(
    name: str, origins: list[set[int]], forgotten: int, tmp_path_factory: Any
) -> None:
    store = STORES[name].make(tmp_path_factory.mktemp("s"))
    await store.open()
    for n, of in enumerate(origins):
        done = await store.log_transcript(ANA, transcript(f"s{n}", f"words {n}", day=n), METHOD)
        known = tuple(sorted(item + 1 for item in of if item < n))
        await remember(store, ANA, done.session, batch((f"m{n}", (n + 1,), known, ())))
    gone = forgotten % len(origins)
    receipt = await store.forget(ANA, session=gone + 1)
    lost = {gone}
    for n, of in enumerate(origins):
        if any(item in lost and item < n for item in of):
            lost.add(n)
    left = [memory.id - 1 for memory in await store.memories(ANA)]
    assert left == [n for n in range(len(origins)) if n not in lost]
    assert receipt.pending_again == len(lost) - 1
    assert {item.session - 1 for item in await store.pending(METHOD, ANA)} == lost - {gone}
    await store.close()
