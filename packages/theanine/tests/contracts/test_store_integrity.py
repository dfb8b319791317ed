"""The store's contract for integrity: checks find damage, and no call causes any."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from theanine.errors import StoreError
from theanine.store import Store
from theanine.store.processes import process_holder
from theanine.store.sql import integrity
from theanine.store.sql.scopes import find_scope
from theanine.store.sql.store import SqlStore
from theanine.store.values import JournalEntry
from theanine.types import (
    ImportedMemory,
    MemoryBatch,
    NewLink,
    NewMark,
    NewMemory,
    Scope,
    Transcript,
    Utterance,
)

from .conftest import StoreCase

pytestmark = pytest.mark.anyio

ANA, BEN = Scope("ana"), Scope("ben")
AT = datetime(2024, 3, 1, 9, 30, tzinfo=UTC)
ME = process_holder()


async def remember(store: Store, session: int, method: str, older: int | None = None) -> int:
    """One memory of a session's first turn, made of an older one, joined to it and marking it."""
    origins = () if older is None else (older,)
    new = NewMemory(
        text=f"{method} {session}", at=AT, source_turns=(2 * session - 1,), derived_from=origins
    )
    what = MemoryBatch(
        memories=[new],
        vectors=np.eye(1, 4, dtype=np.float32),
        links=[NewLink(older=item, newer=0, relation=None) for item in origins],
        marks=[NewMark(memory=item, kind="superseded", by=0) for item in origins],
    )
    lease = await store.acquire_lease(ANA, ME, timedelta(hours=1))
    assert lease
    made = await store.commit_batch(ANA, session, method, what, embedder="test", lease=lease, at=AT)
    return made[0].id


@pytest.fixture
async def lived(store: Store) -> AsyncIterator[Store]:
    """Two sessions with a row of every kind."""
    for scope in (ANA, BEN):
        for day, key in enumerate("ab"):
            turns = [Utterance(text=f"{key} {i}", speaker="Ana", at=AT) for i in range(2)]
            given = [ImportedMemory(text=f"imported {key}")]
            at = AT + timedelta(days=day)
            transcript = Transcript(key=key, turns=turns, at=at, memories=given)
            await store.log_transcript(scope, transcript, "old")
    await remember(store, 2, "old", older=await remember(store, 1, "old"))
    entry = JournalEntry(key="k", step="relate", version=1, model="m", at=AT, session=1)
    await store.add_journal_entry(ANA, entry)
    assert await store.check_integrity() == ""
    yield store
    assert await store.check_integrity() == ""


@pytest.mark.slow
async def test_forgetting_leaves_no_dangling_references(lived: Store) -> None:
    await lived.forget(ANA, memory=1)
    assert await lived.check_integrity() == ""
    await lived.forget(BEN, session=1)
    assert await lived.check_integrity() == ""
    await lived.forget(ANA, session=2)


async def test_replacing_leaves_no_dangling_references(lived: Store) -> None:
    for method in ("old~1", "new"):
        await remember(lived, 2, method, older=await remember(lived, 1, method))
    assert await lived.promote("old~1", "old", ANA) == 2
    assert await lived.check_integrity() == ""
    assert await lived.delete_method_data(["old"], ANA, replacement="new") == 2


@pytest.mark.parametrize(
    ("type_", "damage"),
    [
        (
            "session",
            (
                "turn: 2 with a missing session, first: scope 1, id 1",
                "given: 1 with a missing session",
                "remembering: 1 with a missing session",
                "memory: 1 with a missing session, first: scope 1, id 1",
            ),
        ),
        ("turn", ("source: 1 with a missing turn, first: scope 1, memory 1, turn 1",)),
        (
            "memory",
            (
                "origin: 1 with a missing origin, first: scope 1, memory 2, origin 1",
                "mark: 1 with a missing memory, first: scope 1, id 1",
                "link: 1 with a missing older, first: scope 1, newer 2, older 1",
                "vector: 1 with a missing memory",
            ),
        ),
        ("link", ()),
    ],
)
async def test_dangling_references_are_reported(
    lived: Store, store_case: StoreCase, tmp_path: Path, type_: str, damage: tuple[str, ...]
) -> None:
    records = [item async for item in lived.export()]
    gone = next(item for item in records if item["type"] == type_)
    copy = store_case.make(tmp_path / "copy")
    await copy.open()
    await copy.restore([item for item in records if item is not gone], partial=True)
    result = await copy.check_integrity()
    await copy.close()
    assert "\n" not in result
    faults = result.split("; ") if result else []
    for fault, begins in zip(faults, damage, strict=True):
        assert fault.startswith(begins)


@pytest.mark.parametrize("column", integrity.JSON_COLUMNS, ids=str)
async def test_damaged_json_is_named_and_stops_no_other_user(
    lived: Store, store_case: StoreCase, tmp_path: Path, column: sa.Column[str]
) -> None:
    copy = store_case.make(tmp_path / "copy")
    assert isinstance(copy, SqlStore)
    await copy.open()
    await copy.restore([item async for item in lived.export()])

    def damage(db: sa.Connection) -> int:
        owner = column.table.c.get("scope", column.table.c.get("id"))
        which = sa.true() if owner is None else owner == find_scope(db, ANA)
        return db.execute(column.table.update().where(which).values({column: "{"})).rowcount

    damaged = await copy.write(damage)
    result = await copy.check_integrity()
    assert damaged or column.table.name == "erased_scope", "only that table has no rows here"
    if damaged:
        assert f"{column.table.name}: {damaged} with a damaged {column.name}, first: " in result
        with pytest.raises(StoreError, match="a stored value is damaged"):
            assert [item async for item in copy.export(ANA)]
        assert [item async for item in copy.export(BEN)]
    await copy.close()
