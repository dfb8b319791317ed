"""Put the restored scopes of an export into their places in the store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from theanine.errors import BadInput
from theanine.store.sql import schema as t
from theanine.store.sql import versions as v
from theanine.store.sql.ends import recount_ends
from theanine.store.sql.export_codec import COUNTERS, IMMUTABLE, KEYS, TABLES
from theanine.store.sql.scopes import (
    load_named_scopes,
    look_up_scope,
    scope_params,
    update_state,
)
from theanine.store.sql.vectors import load_active_embedder
from theanine.store.sql.versions import Order, ScopeTombstones, Versions
from theanine.store.values import Restored
from theanine.types import Scope

_OF_SCOPE = tuple(table for table in t.metadata.sorted_tables if "scope" in table.c)
_LOG = ("session", "turn")
_SHOWN = {"sessions": t.session, "turns": t.turn, "memories": t.memory}
_STATED = TABLES.keys() - {"vector"}
"""Types of the records by which one scope contains another; vectors can be made again."""


@dataclass(slots=True)
class StagedScope:
    """A scope of an export, inserted under a number of its own.

    Attributes:
        whole: whether all its records are there.
        versions: its version; None in exports of earlier theanines, and in parts.
    """

    scope: Scope
    id: int
    whole: bool = False
    versions: Versions | None = None


def place_scope(
    db: sa.Connection, staged: StagedScope, tombstones: ScopeTombstones, restored: Restored
) -> None:
    """Give a staged scope its name, in place of an earlier state of it, or drop it if it is stored.

    Raises BadInput if the store holds anything else of these names.
    """
    stored = look_up_scope(db, staged.scope)
    if _is_forgotten(staged, tombstones, stored=bool(stored)):
        restored.forgotten += 1
        _delete_scope(db, staged.id)
        return
    _raise_counters(db, staged.id)
    recount_ends(db, staged.id)
    if not stored:
        restored.new += 1 + sum(_count(db, staged.id, table) for table in TABLES.values())
        _name(db, staged, staged.versions or (v.UNVERSIONED if staged.whole else {}))
        restored.scope_ids.append(staged.id)
        return
    order = _compare(db, staged, stored)
    if order in (Order.OLDER, Order.SAME):
        _delete_scope(db, staged.id)
    elif order is Order.NEWER:
        restored.new += sum(_count_missing(db, staged.id, stored, each) for each in TABLES)
        restored.erased |= any(_count_missing(db, stored, staged.id, each) for each in TABLES)
        restored.replaced.append(stored)
        restored.scope_ids.append(staged.id)
        _keep_vectors(db, stored, staged.id)
        _delete_scope(db, stored)
        _name(db, staged, staged.versions or {})
    else:
        raise BadInput(_refusal(db, staged, stored))


def erase_forgotten(db: sa.Connection, restored: Restored) -> None:
    """Erase the stored scopes that the tombstones forget."""
    tombstones = ScopeTombstones(db)
    for scope, number in load_named_scopes(db):
        versions = v.load_scope_versions(db, number)
        for forgotten in tombstones.find(scope):
            order = v.compare(versions, forgotten)
            if order is Order.DIVERGED:
                raise BadInput(
                    f"{scope} was forgotten in the store of the export and changed in this one; "
                    "forget the user here first"
                )
            if versions and order in (Order.OLDER, Order.SAME):
                _delete_scope(db, number)
                restored.replaced.append(number)
                restored.erased = True
                break


def _is_forgotten(staged: StagedScope, tombstones: ScopeTombstones, *, stored: bool) -> bool:
    """Return whether the scope was forgotten in this store since the export."""
    for forgotten in tombstones.find(staged.scope):
        order = v.compare(staged.versions or {}, forgotten)
        if staged.versions and order in (Order.OLDER, Order.SAME):
            return True
        if order is Order.DIVERGED or (not staged.versions and not stored):
            raise BadInput(
                f"{staged.scope} was forgotten in this store, and these records don't tell whether "
                "that was later; restore into an empty store"
            )
    return False


def _compare(db: sa.Connection, staged: StagedScope, stored: int) -> Order:
    """Tell how a staged scope relates to the stored one; diverged if nothing can tell."""
    if not staged.versions or not staged.whole:
        is_stored = _agree(db, staged.id, stored, IMMUTABLE) and not any(
            _count_missing(db, staged.id, stored, name) for name in _STATED
        )
        return Order.OLDER if is_stored else Order.DIVERGED
    order = v.compare(staged.versions, v.load_scope_versions(db, stored))
    query = sa.select(*(t.scope_state.c[name] for name in COUNTERS.values()))
    mine, theirs = (
        tuple(db.execute(query.where(t.scope_state.c.scope == number)).one())
        for number in (stored, staged.id)
    )
    # A copy of the file that was changed by itself has the same version, but other numbers.
    behind = all(a <= b for a, b in zip(mine, theirs, strict=True))
    ahead = all(a >= b for a, b in zip(mine, theirs, strict=True))
    expected = {Order.NEWER: behind, Order.OLDER: ahead, Order.SAME: behind and ahead}
    is_known = expected.get(order) and _agree(db, staged.id, stored, _LOG)
    return order if is_known else Order.DIVERGED


def _refusal(db: sa.Connection, staged: StagedScope, stored: int) -> str:
    """Return why a staged scope can't take its place, and what can be done."""
    held = ", ".join(f"{name}: {_count(db, stored, table)}" for name, table in _SHOWN.items())
    advice = "restore it into an empty store"
    # What was forgotten here doesn't come back, unless it never was of this store.
    forgotten = {**v.load_scope_versions(db, stored), v.load_store_id(db): 1}
    if staged.versions and v.compare(staged.versions, forgotten) is Order.UNRELATED:
        advice += f", or forget {staged.scope} here first"
    return (
        f"{staged.scope} is not empty here ({held}), and these records are neither an earlier nor "
        f"a later state of it; {advice}"
    )


def _same_key(name: str, table: Any, other: Any) -> list[sa.ColumnElement[bool]]:
    columns = KEYS[name] + (("embedder",) if name == "vector" else ())
    return [table.c[column] == other.c[column] for column in columns]


def _agree(db: sa.Connection, scope_id: int, other: int, types: Iterable[str]) -> bool:
    """Return whether no two records of the same key differ in what never changes."""
    for name in types:
        table, there = TABLES[name], TABLES[name].alias()
        differ = [table.c[column].is_distinct_from(there.c[column]) for column in IMMUTABLE[name]]
        query = (
            sa.select(sa.literal(1))
            .select_from(table.join(there, sa.and_(*_same_key(name, table, there))))
            .where(table.c.scope == scope_id, there.c.scope == other, sa.or_(*differ))
        )
        if db.execute(query.limit(1)).first() is not None:
            return False
    return True


def _count_missing(db: sa.Connection, scope_id: int, other: int, name: str) -> int:
    """Return how many records of one scope have a key that the other doesn't have."""
    table, there = TABLES[name], TABLES[name].alias()
    exists = sa.exists().where(there.c.scope == other, *_same_key(name, table, there))
    query = sa.select(sa.func.count()).select_from(table)
    return db.execute(query.where(table.c.scope == scope_id, ~exists)).scalar_one()


def _count(db: sa.Connection, scope_id: int, table: sa.Table) -> int:
    query = sa.select(sa.func.count()).select_from(table).where(table.c.scope == scope_id)
    return db.execute(query).scalar_one()


# changes


def _name(db: sa.Connection, staged: StagedScope, versions: Versions) -> None:
    v.ensure_store_id(db)
    names = scope_params(staged.scope)
    db.execute(t.scope.update().where(t.scope.c.id == staged.id).values(names))
    update_state(db, staged.id, **v.scope_columns(db, versions))


def _delete_scope(db: sa.Connection, scope_id: int) -> None:
    for table in _OF_SCOPE:
        db.execute(table.delete().where(table.c.scope == scope_id))
    db.execute(t.scope.delete().where(t.scope.c.id == scope_id))


def _keep_vectors(db: sa.Connection, stored: int, staged: int) -> None:
    """Copy the active embedder's vectors to memories that come without one."""
    if (active := load_active_embedder(db)) is None:
        return
    vector, there = t.vector, t.vector.alias()
    has_one = sa.exists().where(
        there.c.scope == staged, there.c.embedder == active.id, there.c.memory == vector.c.memory
    )
    is_there = sa.exists().where(t.memory.c.scope == staged, t.memory.c.id == vector.c.memory)
    rows = sa.select(sa.literal(staged), vector.c.embedder, vector.c.memory, vector.c.data).where(
        vector.c.scope == stored, vector.c.embedder == active.id, is_there, ~has_one
    )
    db.execute(vector.insert().from_select(["scope", "embedder", "memory", "data"], rows))


def _raise_counters(db: sa.Connection, scope_id: int) -> None:
    """Raise a scope's counters above the numbers of its rows, so that none comes twice."""
    state = t.scope_state.c
    query = sa.select(*(state[name] for name in COUNTERS.values()))
    counters = db.execute(query.where(state.scope == scope_id)).one()
    values: dict[str, int] = {}
    for (name, column), reached in zip(COUNTERS.items(), counters, strict=True):
        rows = TABLES[name].c
        last = sa.select(sa.func.max(rows.id)).where(rows.scope == scope_id)
        values[column] = max(reached, (db.execute(last).scalar() or 0) + 1)
    update_state(db, scope_id, **values)
