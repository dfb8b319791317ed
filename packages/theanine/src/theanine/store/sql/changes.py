"""Counting changes, to find out whether a commit without an answer was stored.

A connection can be lost during a commit: the change may be stored or not, and repeating it blindly
could store it twice. So on a server each change stores a random id in its own transaction. The
server's transaction numbers can't be used, because a server reuses them after a crash.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql.claims import note_change
from theanine.store.sql.scopes import find_scope
from theanine.store.sql.versions import (
    ScopeTombstones,
    count_store_change,
    load_setting,
    load_store_revision,
    save_setting,
)
from theanine.types import Scope

_RECENT = "recent_changes"  # a setting, as the column of a scope's state
_KEPT = 32  # last changes whose ids are kept
_ID_LENGTH = 12
_OPTION = "theanine_change"  # of a connection


@dataclass(slots=True)
class Change:
    """One change of a scope or, by a call without one, of the store.

    Attributes:
        id: random.
        counted: whether the id was stored.
        revision: that of the scope or of the store's settings after the change; None if there is
            no such scope (any more).
    """

    id: str = field(default_factory=lambda: token_hex(_ID_LENGTH // 2))
    counted: bool = False
    revision: int | None = None


# Built once: SQLAlchemy takes longer to build them than SQLite to run them.
_COUNT = (
    t.scope_state.update()
    .where(t.scope_state.c.scope == sa.bindparam("scope_id"))
    .values(revision=t.scope_state.c.revision + 1)
)
_ID = sa.bindparam("change", type_=sa.Text())
_LEAVE_ID = {
    "recent_changes": sa.func.left(_ID + t.scope_state.c.recent_changes, _KEPT * _ID_LENGTH)
}
_COUNT_AND_LEAVE_ID = _COUNT.values(_LEAVE_ID).returning(t.scope_state.c.revision)
_TAKE_TURNS = (
    t.scope_state.update()
    .where(t.scope_state.c.scope == sa.bindparam("scope_id"))
    .values(next_turn=t.scope_state.c.next_turn + sa.bindparam("count"))
    .returning(t.scope_state.c.next_turn, t.scope_state.c.time_zone, t.scope_state.c.revision)
)
_TAKE_TURNS_AND_COUNT = _TAKE_TURNS.values(revision=t.scope_state.c.revision + 1, **_LEAVE_ID)


def trace_change(db: sa.Connection, change: Change) -> sa.Connection:
    """Have :func:`count_change` store the id of a change."""
    return db.execution_options(**{_OPTION: change})


def take_turn_numbers(db: sa.Connection, scope_id: int, count: int) -> tuple[int, str | None]:
    """Take numbers for turns; return the first one, and the user's time zone.

    On a server, this counts the change as well: that is a round trip less.
    """
    change: Change | None = db.get_execution_options().get(_OPTION)
    values: dict[str, Any] = {"scope_id": scope_id, "count": count}
    if change is None or change.revision is not None:
        row = db.execute(_TAKE_TURNS, values).one()
    else:
        row = db.execute(_TAKE_TURNS_AND_COUNT, {**values, "change": change.id}).one()
        change.counted, change.revision = True, row.revision
    return row.next_turn - count, row.time_zone


def count_change(db: sa.Connection, scope: Scope | None) -> None:
    """Count a change of one scope, if it exists; None: of all scopes and the store's settings."""
    note_change(db)
    change: Change | None = db.get_execution_options().get(_OPTION)
    if change is not None:
        change.counted = True
    if scope is not None:
        number = find_scope(db, scope)
        if not number or (change is not None and change.revision is not None):
            return
        if change is None:
            db.execute(_COUNT, {"scope_id": number})
        else:
            values = {"scope_id": number, "change": change.id}
            change.revision = db.execute(_COUNT_AND_LEAVE_ID, values).scalar()
        return
    db.execute(t.scope_state.update().values(revision=t.scope_state.c.revision + 1))
    revision = count_store_change(db)
    if change is not None:
        change.revision = revision
        recent = change.id + load_setting(db, _RECENT)
        save_setting(db, _RECENT, recent[: _KEPT * _ID_LENGTH])


def is_stored(db: sa.Connection, scope: Scope | None, change: Change) -> bool | None:
    """Return whether a counted change was committed; None if too many followed it to tell.

    Must be called in a write transaction of the scope, which waits for that of the change.
    """
    if scope is None:
        revision, recent = load_store_revision(db), load_setting(db, _RECENT)
    else:
        s = t.scope_state.c
        query = sa.select(s.revision, s.recent_changes).where(s.scope == find_scope(db, scope))
        row = db.execute(query).one_or_none()
        if row is None and change.revision is None:
            return True  # the change itself has erased the scope, or there never was one
        revision, recent = (row.revision, row.recent_changes) if row else (0, "")
        tombstones = ScopeTombstones(db)
        if change.revision and tombstones.was_forgotten(db, scope, change.revision):
            return True  # and erased later
    if change.id in recent:
        return True
    followed = 0 if change.revision is None else revision - change.revision
    return None if followed >= _KEPT else False
