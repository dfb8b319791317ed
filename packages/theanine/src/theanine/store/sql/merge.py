"""Replace a stored scope by a restored one, or merge the two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from theanine.errors import BadInput
from theanine.store.sql import schema as t
from theanine.store.sql import versions as v
from theanine.store.sql.changes import count_change
from theanine.store.sql.export_codec import COUNTERS, IMMUTABLE, KEYS, SETTINGS, TABLES
from theanine.store.sql.rows import insert_rows
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
_BATCH = 500
_ADVICE = "restore into an empty store or under another user"


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


def merge_scope(
    db: sa.Connection, staged: StagedScope, tombstones: ScopeTombstones, restored: Restored
) -> None:
    """Replace the stored scope by a staged one, or merge them. Raises BadInput if they conflict."""
    stored = look_up_scope(db, staged.scope)
    if _is_forgotten(staged, tombstones, stored=bool(stored)):
        restored.forgotten += 1
        _delete_scope(db, staged.id)
        return
    _raise_counters(db, staged.id, staged.id)
    if not stored:
        restored.new += 1 + sum(_count(db, staged.id, table) for table in TABLES.values())
        _name(db, staged, staged.versions or (v.UNVERSIONED if staged.whole else {}))
        restored.scope_ids.append(staged.id)
        return
    versions = v.load_scope_versions(db, stored)
    order = _compare(db, staged, stored, versions)
    if order in (Order.OLDER, Order.NEWER, Order.SAME):
        _check_agreement(db, staged, stored, _LOG)
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
        _check_agreement(db, staged, stored, tuple(IMMUTABLE))
        if versions:
            _check_nothing_forgotten(db, staged, staged.id, stored, "since the export")
        if staged.whole:
            _check_nothing_forgotten(db, staged, stored, staged.id, "before the export")
        new = _unite(db, staged.id, stored)
        restored.new += new
        restored.scope_ids.append(stored)
        values: dict[str, Any] = {"epoch": t.scope_state.c.epoch + 1}
        if staged.whole and versions:
            values |= v.scope_columns(db, v.merge(versions, staged.versions or v.UNVERSIONED))
        update_state(db, stored, **values)
        if new and versions:
            v.ensure_store_id(db)
            count_change(db, staged.scope)


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


def _compare(db: sa.Connection, staged: StagedScope, stored: int, versions: Versions) -> Order:
    """Tell how a staged scope relates to the stored one; diverged if nothing can tell."""
    if not staged.versions or not staged.whole:
        return Order.DIVERGED
    order = v.compare(staged.versions, versions)
    query = sa.select(*(t.scope_state.c[name] for name in COUNTERS.values()))
    mine, theirs = (
        tuple(db.execute(query.where(t.scope_state.c.scope == number)).one())
        for number in (stored, staged.id)
    )
    # A copy of the file that was changed by itself has the same version, but other numbers.
    behind = all(a <= b for a, b in zip(mine, theirs, strict=True))
    ahead = all(a >= b for a, b in zip(mine, theirs, strict=True))
    expected = {Order.NEWER: behind, Order.OLDER: ahead, Order.SAME: behind and ahead}
    return order if expected.get(order) else Order.DIVERGED


# checks


def _same_key(name: str, table: Any, other: Any) -> list[sa.ColumnElement[bool]]:
    columns = KEYS[name] + (("embedder",) if name == "vector" else ())
    return [table.c[column] == other.c[column] for column in columns]


def _check_agreement(
    db: sa.Connection, staged: StagedScope, stored: int, types: tuple[str, ...]
) -> None:
    for name in types:
        table, other = TABLES[name], TABLES[name].alias()
        columns = IMMUTABLE[name]
        differ = [table.c[column].is_distinct_from(other.c[column]) for column in columns]
        query = (
            sa.select(*(table.c[key] for key in KEYS[name]), *differ)
            .join(other, sa.and_(*_same_key(name, table, other)))
            .where(table.c.scope == staged.id, other.c.scope == stored, sa.or_(*differ))
            .order_by(*(table.c[key] for key in KEYS[name]))
            .limit(1)
        )
        if (row := db.execute(query).first()) is not None:
            keys = row[: len(KEYS[name])]
            column = next(c for c, d in zip(columns, row[len(keys) :], strict=True) if d)
            raise BadInput(
                f"{staged.scope} already has another {name} {', '.join(map(str, keys))} "
                f"(its {column} differs); {_ADVICE}"
            )


def _check_nothing_forgotten(
    db: sa.Connection, staged: StagedScope, scope_id: int, other: int, when: str
) -> None:
    """Raise BadInput if one scope has a number that is gone from the other."""
    state = t.scope_state.c
    for name, counter in COUNTERS.items():
        table = TABLES[name]
        next_number = sa.select(state[counter]).where(state.scope == other).scalar_subquery()
        gone = _select_missing(scope_id, other, name).where(table.c.id < next_number)
        if (row := db.execute(gone.limit(1)).first()) is not None:
            raise BadInput(
                f"{name} {row.id} of {staged.scope} was forgotten or replaced {when}, and the "
                f"store was changed otherwise as well; {_ADVICE}"
            )


def _select_missing(scope_id: int, other: int, name: str) -> sa.Select[Any]:
    """Select rows of one scope whose key the other doesn't have."""
    table, there = TABLES[name], TABLES[name].alias()
    exists = sa.exists().where(there.c.scope == other, *_same_key(name, table, there))
    return sa.select(table).where(table.c.scope == scope_id, ~exists)


def _count_missing(db: sa.Connection, scope_id: int, other: int, name: str) -> int:
    missing = _select_missing(scope_id, other, name).subquery()
    return db.execute(sa.select(sa.func.count()).select_from(missing)).scalar_one()


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


def _unite(db: sa.Connection, staged: int, stored: int) -> int:
    """Copy rows that the stored scope lacks, and update the others to the later state."""
    _merge_sessions(db, staged, stored)
    merged = _merge_progress(db, staged, stored)
    new = 0
    for name, table in TABLES.items():
        if name == "memory":
            for pairs in (t.source, t.origin):
                memory = sa.exists().where(
                    t.memory.c.scope == stored, t.memory.c.id == pairs.c.memory
                )
                _copy_rows(db, pairs, staged, stored, ~memory)
        there = table.alias()
        known = sa.exists().where(there.c.scope == stored, *_same_key(name, table, there))
        new += _copy_rows(db, table, staged, stored, ~known)
    for session, method in merged:
        _reopen_progress(db, stored, session, method)
    _raise_counters(db, staged, stored)
    _merge_settings(db, staged, stored)
    _delete_scope(db, staged)
    return new


def _copy_rows(
    db: sa.Connection, table: sa.Table, staged: int, stored: int, which: sa.ColumnElement[bool]
) -> int:
    """Copy rows from one scope to the other, and return how many there were.

    The key of a distributed table can't be updated.
    """
    count = 0
    query = sa.select(table).where(table.c.scope == staged, which)
    batches = db.execute(query.execution_options(yield_per=_BATCH)).mappings().partitions()
    for rows in batches:
        insert_rows(db, table, [{**row, "scope": stored} for row in rows])
        count += len(rows)
    return count


def _merge_sessions(db: sa.Connection, staged: int, stored: int) -> None:
    """End sessions that were ended, and later if they were."""
    s, there = t.session, t.session.alias()
    query = (
        sa.select(s.c.id, s.c.ended_at, s.c.started_at, there.c.ended_at.label("own"))
        .join(there, there.c.id == s.c.id)
        .where(s.c.scope == staged, there.c.scope == stored, s.c.ended_at.is_not(None))
        .where(sa.or_(there.c.ended_at.is_(None), there.c.ended_at < s.c.ended_at))
    )
    for row in db.execute(query).all():
        values: dict[str, Any] = {"ended_at": row.ended_at}
        if row.own is None:  # a session starts with its first turn, which may be new
            values["started_at"] = row.started_at
        same = (s.c.scope == stored, s.c.id == row.id)
        db.execute(s.update().where(*same).values(values))


_PROGRESS = ("upto", "given", "remembered_at", "attempts", "failure", "set_aside")


def _merge_progress(db: sa.Connection, staged: int, stored: int) -> list[tuple[int, str]]:
    """Keep the later progress of each session; return the sessions and methods that differed."""
    r, there = t.remembering, t.remembering.alias()
    query = (
        sa.select(r, *(there.c[name].label(f"own_{name}") for name in _PROGRESS))
        .join(there, sa.and_(*_same_key("remembering", r, there)))
        .where(r.c.scope == staged, there.c.scope == stored)
        .where(sa.or_(*(r.c[name].is_distinct_from(there.c[name]) for name in _PROGRESS)))
    )
    merged: list[tuple[int, str]] = []
    for row in db.execute(query).mappings().all():
        merged.append((row["session"], row["method"]))
        own = {name: row[f"own_{name}"] for name in _PROGRESS}
        theirs = {name: row[name] for name in _PROGRESS}
        values = max(own, theirs, key=_how_far)
        values |= {name: max(own[name], theirs[name]) for name in ("upto", "given")}
        same = (r.c.scope == stored, r.c.session == row["session"], r.c.method == row["method"])
        db.execute(r.update().where(*same).values(values))
    return merged


def _how_far(progress: dict[str, Any]) -> tuple[Any, ...]:
    done = progress["remembered_at"]
    return progress["upto"], progress["given"], done is not None, done or 0, progress["attempts"]


def _reopen_progress(db: sa.Connection, stored: int, session: int, method: str) -> None:
    """Mark a session as pending if it has got turns or memories after what was remembered."""
    r = t.remembering.c
    later = sa.or_(
        *(
            sa.exists().where(table.c.scope == stored, table.c.session == session, number > reached)
            for table, number, reached in (
                (t.turn, t.turn.c.id, r.upto),
                (t.given, t.given.c.position, r.given),
            )
        )
    )
    same = (r.scope == stored, r.session == session, r.method == method)
    db.execute(t.remembering.update().where(*same, later).values(remembered_at=None))


def _raise_counters(db: sa.Connection, staged: int, stored: int) -> None:
    """Raise counters above those of the staged scope and its rows; no number comes twice."""
    state = t.scope_state.c
    query = sa.select(*(state[name] for name in COUNTERS.values()))
    counters = db.execute(query.where(state.scope == staged)).one()
    own = db.execute(query.where(state.scope == stored)).one()
    values: dict[str, int] = {}
    for (name, column), *reached in zip(COUNTERS.items(), counters, own, strict=True):
        rows = TABLES[name].c
        last = sa.select(sa.func.max(rows.id)).where(rows.scope == stored)
        values[column] = max(*reached, (db.execute(last).scalar() or 0) + 1)
    update_state(db, stored, **values)


def _merge_settings(db: sa.Connection, staged: int, stored: int) -> None:
    s = t.scope_state
    for name in SETTINGS:
        column = s.c[name]
        value = db.execute(sa.select(column).where(s.c.scope == staged)).scalar()
        unset = s.update().where(s.c.scope == stored, column.is_(None))
        db.execute(unset.values({name: value}))
