"""The store's contract for deleting and replacing a method's data."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from theanine.errors import LeaseLost
from theanine.store import Store
from theanine.store.processes import process_holder
from theanine.store.values import JournalEntry
from theanine.types import (
    ImportedMemory,
    Memory,
    MemoryBatch,
    NewLink,
    NewMark,
    NewMemory,
    Relation,
    Scope,
    Transcript,
    Utterance,
)

pytestmark = pytest.mark.anyio

ANA, BEN = Scope("ana"), Scope("ben")
AT = datetime(2024, 3, 1, 9, 30, tzinfo=UTC)
ME = process_holder()


def unit(count: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    rows = np.random.default_rng(count).normal(size=(count, 16)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def made(*texts: str, origins: tuple[int, ...] = (), **more: Any) -> MemoryBatch:
    memories = [NewMemory(text=text, at=AT, source_turns=(1,), derived_from=origins)
                for text in texts]  # fmt: skip
    return MemoryBatch(memories=memories, vectors=unit(len(texts)), **more)


async def commit(
    store: Store, scope: Scope, session: int, method: str, what: MemoryBatch
) -> list[Memory]:
    lease = await store.acquire_lease(scope, ME, timedelta(hours=1)) or 0
    options: dict[str, Any] = {"embedder": "test", "lease": lease, "at": AT}
    return await store.commit_batch(scope, session, method, what, **options)


async def lived(store: Store, scopes: Sequence[Scope] = (ANA, BEN)) -> None:
    """Two sessions a scope, remembered by `old` with links, marks and origins, and by `other`."""
    for scope in scopes:
        for day, key in enumerate("ab"):
            at = AT + timedelta(days=day)
            turn = Utterance(text=f"I said {key}.", speaker="Ana", at=at)
            imported = [ImportedMemory(text=f"imported {key}")]
            transcript = Transcript(key=key, turns=[turn], at=at, memories=imported)
            await store.log_transcript(scope, transcript, "old")
        (first,) = await commit(store, scope, 1, "old", made("first"))
        links = [NewLink(older=first.id, newer=0, relation=Relation.CAUSE, explanation="so")]
        marks = [NewMark(memory=first.id, kind="superseded", by=0)]
        what = made("second", origins=(first.id,), links=links, marks=marks)
        await commit(store, scope, 2, "old", what)
        for session in (1, 2):
            await commit(store, scope, session, "other", made(f"other {session}"))
        entry = JournalEntry(key="k", step="relate", version=1, model="m", at=AT, reply="yes")
        await store.add_journal_entry(scope, entry)


async def records(store: Store, *without: str) -> list[dict[str, Any]]:
    """All but the scopes, whose epochs rise, and what ``without`` made."""
    return [
        item
        async for item in store.export()
        if item["type"] not in ("scope", "theanine", "end") and item.get("method") not in without
    ]


@pytest.mark.slow
async def test_methods_are_counted_in_one_scope_and_in_all(store: Store) -> None:
    assert await store.methods() == {}
    await lived(store)
    assert await store.methods(ANA) == {"old": 2, "other": 2}
    assert await store.methods() == {"old": 4, "other": 4}
    assert await store.methods(Scope("nobody")) == {}


async def test_all_data_of_a_method_and_nothing_else_is_deleted(store: Store) -> None:
    await lived(store)
    before = await records(store, "old")
    vectors = {m.id for scope in (ANA, BEN) for m in await store.memories(scope, method="old")}
    assert await store.delete_method_data(["old"]) == 4
    kept = [item for item in before if not (item["type"] == "vector" and item["memory"] in vectors)]
    assert await records(store) == kept
    assert any(item["type"] == "vector" for item in kept)
    assert await store.methods() == {"other": 4}
    assert await store.links(ANA) == []
    assert await store.marks(ANA) == []
    assert (await store.vectors(ANA))[0] == [m.id for m in await store.memories(ANA)]


async def test_deleted_data_is_pending_again(store: Store) -> None:
    await lived(store)
    assert await store.pending("old") == []
    await store.delete_method_data(["old"])
    assert [item.session for item in await store.pending("old", ANA)] == [1, 2]
    turns, imported = await store.pending_input(ANA, 1, "old")
    assert [turn.text for turn in turns] == ["I said a."]
    assert [item.text for item in imported] == ["imported a"]
    assert await store.find_journal_entry(ANA, "k") is not None
    (anew,) = await commit(store, ANA, 1, "old", made("first"))
    assert anew.id > 4  # no number comes back


async def test_deleting_in_one_scope_leaves_others_unchanged(store: Store) -> None:
    await lived(store)
    before = await store.scope_version(BEN)
    assert await store.delete_method_data(["old", "other"], ANA) == 4
    assert await store.methods(ANA) == {}
    assert await store.methods(BEN) == {"old": 2, "other": 2}
    assert await store.scope_version(BEN) == before
    assert await store.delete_method_data(["old"], Scope("nobody")) == 0


async def test_deleting_starts_a_new_epoch_and_revokes_the_lease(store: Store) -> None:
    await lived(store, [ANA])
    before = await store.scope_version(ANA)
    assert await store.delete_method_data(["nothing"], ANA) == 0
    assert await store.scope_version(ANA) == before
    lease = await store.acquire_lease(ANA, ME, timedelta(hours=1)) or 0
    assert await store.delete_method_data(["old"], ANA) == 2
    assert (await store.scope_version(ANA)).epoch == before.epoch + 1
    with pytest.raises(LeaseLost):
        await store.commit_batch(ANA, 1, "old", made("x"), embedder="test", lease=lease, at=AT)


async def test_nothing_is_deleted_while_the_replacement_is_pending(store: Store) -> None:
    await lived(store)
    for session in (1, 2):
        await commit(store, ANA, session, "new", made(f"new {session}"))
    before = await records(store)
    assert await store.delete_method_data(["old"], replacement="new") is None
    assert await records(store) == before
    assert (
        await store.delete_method_data(["old"], ANA, replacement="new") == 2
    )  # there it has remembered everything
    assert await store.methods(ANA) == {"new": 2, "other": 2}


async def test_a_stage_is_promoted_whole_or_not_at_all(store: Store) -> None:
    await lived(store, [ANA])
    (first,) = await commit(store, ANA, 1, "old~1", made("first again"))
    before = await records(store)
    assert await store.promote("old~1", "old") is None
    assert await records(store) == before
    links = [NewLink(older=first.id, newer=0, relation=None)]
    marks = [NewMark(memory=first.id, kind="withdrawn")]
    what = made("second again", origins=(first.id,), links=links, marks=marks)
    await commit(store, ANA, 2, "old~1", what)
    assert await store.promote("old~1", "old") == 2
    assert await store.methods() == {"old": 2, "other": 2}
    result = await store.memories(ANA, method="old")
    assert [memory.text for memory in result] == ["first again", "second again"]
    assert result[1].derived_from == (first.id,)
    assert [link.older for link in await store.links(ANA, method="old")] == [first.id]
    assert [mark.memory for mark in await store.marks(ANA, method="old")] == [first.id]
    assert await store.pending("old") == []
    assert all(item.remembered_at for item in await store.sessions(ANA, "old"))


async def test_promoting_a_first_stage_starts_a_new_epoch(store: Store) -> None:
    await lived(store, [ANA])
    for session in (1, 2):
        await commit(store, ANA, session, "new~1", made(f"new {session}"))
    before = await store.scope_version(ANA)
    assert await store.promote("new~1", "new") == 0
    assert (await store.scope_version(ANA)).epoch > before.epoch


@pytest.mark.parametrize("way", ["instead", "again"])
async def test_recalled_memories_are_replaced(store: Store, way: str) -> None:
    await lived(store, [ANA])
    first, second = await store.memories(ANA, method="old")
    other = (await store.memories(ANA, method="other"))[0]
    talk = await store.start_session(ANA, AT + timedelta(days=9))
    utterance_at = Utterance(
        text="You said so.",
        speaker="assistant",
        role="assistant",
        at=AT + timedelta(days=9),
        recalled=(second.id, other.id, 99),
    )
    plain = Utterance(text="Did I?", speaker="Ana", at=AT + timedelta(days=9))
    await store.append_turns(ANA, talk, [utterance_at, plain])
    name = "new" if way == "instead" else "old~1"
    made_anew = [await commit(store, ANA, session, name, made("anew")) for session in (1, 2)]
    if way == "instead":
        assert await store.delete_method_data(["old"], ANA, replacement="new") == 2
    else:
        assert await store.promote("old~1", "old", ANA) == 2
    turns = await store.turns(ANA, session=talk)
    assert [turn.recalled for turn in turns] == [(made_anew[0][0].id, other.id, 99), ()]
    assert first.id not in turns[0].recalled


async def test_the_replacement_shares_most_source_turns(store: Store) -> None:
    turns = [Utterance(text=text, speaker="Ana", at=AT) for text in "abcd"]
    await store.log_transcript(ANA, Transcript(key="s", turns=turns, at=AT), "old")

    async def resting(method: str, *sources: tuple[int, ...]) -> list[int]:
        new = [NewMemory(text=method, at=AT, source_turns=item) for item in sources]
        what = MemoryBatch(memories=new, vectors=unit(len(new)))
        return [memory.id for memory in await commit(store, ANA, 1, method, what)]

    whole, end, equal, apart = await resting("old", (1, 2, 3), (4,), (1, 3), ())
    start, middle, _ = await resting("new", (1,), (2, 3, 4), (3,))
    talk = await store.start_session(ANA, AT)
    reminded: list[tuple[int, ...]] = [(end, apart, whole), (equal, whole), (apart,)]
    for recalled in reminded:
        utterance_at = Utterance(
            text="So?", speaker="bot", role="assistant", at=AT, recalled=recalled
        )
        await store.append_turns(ANA, talk, [utterance_at])
    await store.delete_method_data(["old"], ANA, replacement="new")
    reminded = [turn.recalled for turn in await store.turns_with_recalls(ANA)]
    assert reminded == [(middle, apart), (start, middle), (apart,)]


async def test_the_default_method_is_the_first_until_replaced_everywhere(store: Store) -> None:
    assert await store.default_method() == ""
    await lived(store)
    assert await store.default_method() == "old"
    for scope in (ANA, BEN):
        for session in (1, 2):
            await commit(store, scope, session, "new", made(f"new {session}"))
    await store.delete_method_data(["old", "other"], ANA, replacement="new")
    assert await store.default_method() == "old"  # it is still Ben's
    await store.delete_method_data(["old", "other"], replacement="new")
    assert await store.default_method() == "new"
    [header] = [item async for item in store.export(BEN) if item["type"] == "theanine"]
    assert header["method"] == "new"


async def test_memories_of_other_methods_do_not_keep_a_forgotten_one(store: Store) -> None:
    secret = "cormorant-4417"
    for day, key in enumerate("ab"):
        utterance_at = Utterance(
            text=f"{secret if key == 'a' else 'Nothing'}.", speaker="Ana", at=AT
        )
        plain = Utterance(text="It is cold.", speaker="Ana", at=AT)
        transcript = Transcript(key=key, turns=[utterance_at, plain], at=AT + timedelta(days=day))
        await store.log_transcript(ANA, transcript, "old")
    whole = NewMemory(text=f"{secret} and cold", at=AT, source_turns=(1, 2))
    own = [
        NewMemory(text=secret, at=AT, source_turns=(1,)),
        NewMemory(text="cold", at=AT, source_turns=(2,)),
    ]
    (first, second) = await commit(store, ANA, 1, "old", MemoryBatch(memories=own, vectors=unit(2)))
    (other,) = await commit(store, ANA, 1, "other", MemoryBatch(memories=[whole], vectors=unit(1)))
    later = NewMemory(text=f"still {secret}", at=AT, source_turns=(3,), derived_from=(other.id,))
    await commit(store, ANA, 2, "other", MemoryBatch(memories=[later], vectors=unit(1)))
    report = await store.forget(ANA, memory=first.id)
    assert report.verified or report.remaining
    assert (report.kept, report.turns, report.pending_again) == ((), 1, 2)
    assert [memory.id for memory in await store.memories(ANA)] == [second.id]
    assert secret not in str(await records(store))
    assert [item.session for item in await store.pending("other")] == [1, 2]
    assert [item.session for item in await store.pending("old")] == [2]
    turns, _ = await store.pending_input(ANA, 1, "other")
    assert [turn.text for turn in turns] == ["It is cold."]


async def test_what_the_caller_said_carries_over_to_memories_on_the_same_turns(
    store: Store,
) -> None:
    turns = [Utterance(text=f"I said {n}.", speaker="Ana", at=AT) for n in (1, 2)]
    await store.log_transcript(ANA, Transcript(key="a", turns=turns, at=AT), "old")

    def resting(*sources: Sequence[int]) -> MemoryBatch:
        memories = [
            NewMemory(text=f"on {', '.join(map(str, each))}", at=AT, source_turns=tuple(each))
            for each in sources
        ]
        return MemoryBatch(memories=memories, vectors=unit(len(memories)))

    old, pinned = await commit(store, ANA, 1, "old", resting([1], [2]))
    await commit(store, ANA, 1, "other", resting([1], [1, 2]))
    new = await store.correct_memory(ANA, old.id, "I said 3.", unit(1)[0], embedder="test", at=AT)
    await store.set_pin(ANA, pinned.id, True)
    await store.carry_marks("other", ANA)
    before = await store.marks(ANA, method="other")
    assert [(mark.memory, mark.kind) for mark in before] == [(4, "pinned")]  # the only one on it
    (successor,) = await commit(store, ANA, new.session, "other", resting(new.source_turns))
    for _ in range(2):
        await store.carry_marks("other")
        marks = await store.marks(ANA, method="other")
        assert [(mark.memory, mark.kind, mark.by) for mark in marks] == [
            (4, "pinned", None),
            (3, "corrected", successor.id),
        ]
    await store.carry_marks("old")  # what was carried over doesn't come back
    assert len(await store.marks(ANA, method="old")) == 2
    await store.set_pin(ANA, 4, False)
    await store.carry_marks("other")
    assert [mark.kind for mark in await store.marks(ANA, method="other")][-1] == "unpinned"
    assert await store.delete_method_data(["old"], replacement="other") == 3
    await store.carry_marks("other")
    assert {mark.reason for mark in await store.marks(ANA, method="other")} == {""}
