"""Which sessions wait to be remembered by a method, who may remember them, and failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from theanine.clock import micros
from theanine.store.processes import is_dead
from theanine.store.sql import schema as t
from theanine.store.sql.rows import (
    SELECT_TURNS,
    escape_unstorable,
    imported_memory_from_row,
    insert_rows,
    require_session,
    turn_from_row,
)
from theanine.store.sql.scopes import (
    erased_since,
    find_scope,
    load_with_scopes,
    scope_key,
    update_state,
)
from theanine.store.sql.versions import add_setting, count_store_change
from theanine.store.values import Pending
from theanine.types import ImportedMemory, Scope, Turn

_DEFAULT_METHOD = "method"  # name of the setting


# leases


def acquire_lease(
    db: sa.Connection, scope: Scope, holder: str, until: datetime, now: datetime
) -> bool:
    """Take the scope's lease if it is free, expired or held by a dead process."""
    s, number = t.scope_state.c, find_scope(db, scope)
    query = sa.select(s.lease_holder, s.lease_until).where(s.scope == number)
    row = db.execute(query.with_for_update()).one_or_none()
    if row is None:
        return False
    free = row.lease_holder in (None, holder)
    if not free and row.lease_until > micros(now) and not is_dead(row.lease_holder):
        return False
    update_state(db, number, lease_holder=holder, lease_until=micros(until))
    return True


def renew_lease(db: sa.Connection, scope: Scope, holder: str, until: datetime) -> bool:
    """Extend the lease; False when ``holder`` has lost it."""
    held = _holds_lease(db, scope, holder)
    renewed = db.execute(t.scope_state.update().where(*held).values(lease_until=micros(until)))
    return renewed.rowcount > 0


def release_lease(db: sa.Connection, scope: Scope, holder: str) -> None:
    """Release the lease if ``holder`` still has it."""
    held = _holds_lease(db, scope, holder)
    values = {"lease_holder": None, "lease_until": None}
    db.execute(t.scope_state.update().where(*held).values(values))


def _holds_lease(
    db: sa.Connection, scope: Scope, holder: str
) -> tuple[sa.ColumnElement[bool], sa.ColumnElement[bool]]:
    s = t.scope_state.c
    return (s.scope == find_scope(db, scope), s.lease_holder == holder)


# the default method


def load_default_method(db: sa.Connection) -> str:
    """Return the method that is used where none is named; empty before anything was ended."""
    query = sa.select(t.setting.c.value).where(t.setting.c.name == _DEFAULT_METHOD)
    return db.execute(query).scalar() or ""


def init_default_method(db: sa.Connection, method: str) -> None:
    """Set the default method if there is none yet."""
    if not load_default_method(db) and add_setting(db, _DEFAULT_METHOD, method):
        count_store_change(db)


def set_default_method(db: sa.Connection, method: str) -> None:
    """Set the default method to that of an export."""
    db.execute(t.setting.delete().where(t.setting.c.name == _DEFAULT_METHOD))
    if method:
        insert_rows(db, t.setting, [{"name": _DEFAULT_METHOD, "value": method}])


def replace_default_method(db: sa.Connection, methods: Sequence[str], replacement: str) -> None:
    """Change the default method if it is one of ``methods``."""
    match = (t.setting.c.name == _DEFAULT_METHOD, t.setting.c.value.in_(methods))
    db.execute(t.setting.update().where(*match).values(value=replacement))


# progress


_IS_PROGRESS = (
    t.remembering.c.scope == sa.bindparam("scope_id"),
    t.remembering.c.session == sa.bindparam("number"),
    t.remembering.c.method == sa.bindparam("name"),
)
_SELECT_PROGRESS = sa.select(t.remembering).where(*_IS_PROGRESS)
_UPDATE_PROGRESS = t.remembering.update().where(*_IS_PROGRESS)


def load_progress(
    db: sa.Connection, scope_id: int, session: int, method: str
) -> sa.Row[Any] | None:
    """Return the row in ``remembering``: up to where the method has remembered the session."""
    values = {"scope_id": scope_id, "number": session, "name": method}
    return db.execute(_SELECT_PROGRESS, values).one_or_none()


def save_progress(
    db: sa.Connection, scope_id: int, session: int, method: str, values: Mapping[str, Any]
) -> None:
    """Update the row in ``remembering``, or insert it."""
    which = {"scope_id": scope_id, "number": session, "name": method}
    updated = db.execute(_UPDATE_PROGRESS, {**which, **values})
    if not updated.rowcount:
        key = {"scope": scope_id, "session": session, "method": method}
        insert_rows(db, t.remembering, [{**key, **values}])


def mark_pending(db: sa.Connection, scope_id: int, session: int, method: str) -> None:
    """Mark a session as pending for ``method``, and for every method that had remembered it."""
    r = t.remembering.c
    same = (r.scope == scope_id, r.session == session)
    db.execute(t.remembering.update().where(*same).values(remembered_at=None))
    if load_progress(db, scope_id, session, method) is None:
        key = {"scope": scope_id, "session": session, "method": method}
        insert_rows(db, t.remembering, [key])
        init_default_method(db, method)


def load_pending(db: sa.Connection, method: str, scope: Scope | None = None) -> list[Pending]:
    """Return ended sessions that the method has not remembered, per scope in time order."""
    progress = sa.and_(
        t.remembering.c.scope == t.session.c.scope,
        t.remembering.c.session == t.session.c.id,
        t.remembering.c.method == method,
    )
    own = scope_key(db, t.session.c.scope, scope)
    holds_something = [  # after all of it was forgotten, only tombstones may be left
        sa.exists(table.c.session).where(table.c.scope == own, table.c.session == t.session.c.id)
        for table in (t.turn, t.given)
    ]
    query = (
        sa.select(t.session.c.id, t.remembering.c.attempts, t.remembering.c.failure)
        .select_from(t.session)
        .outerjoin(t.remembering, progress)
        .where(t.session.c.ended_at.is_not(None), t.remembering.c.remembered_at.is_(None))
        .where(sa.or_(*holds_something))
        .order_by(t.session.c.scope, t.session.c.started_at, t.session.c.id)
    )
    return [
        Pending(
            scope=owner,
            session=row.id,
            method=method,
            attempts=row.attempts or 0,
            failure=row.failure,
        )
        for owner, row in load_with_scopes(db, query, t.session.c.scope, scope)
    ]


# By number, found in an index: SQLite would read all turns of the scope in their order.
_same = t.turn.alias()
_NUMBERS_AFTER = sa.select(_same.c.id).where(
    _same.c.scope == sa.bindparam("scope_id"),
    _same.c.session == sa.bindparam("number"),
    _same.c.id > sa.bindparam("after"),
)
_SELECT_TURNS_AFTER = SELECT_TURNS.where(
    t.turn.c.scope == sa.bindparam("scope_id"), t.turn.c.id.in_(_NUMBERS_AFTER)
).order_by(t.turn.c.id)
SELECT_IMPORTED = (
    sa.select(t.given)
    .where(
        t.given.c.scope == sa.bindparam("scope_id"),
        t.given.c.session == sa.bindparam("number"),
        t.given.c.position > sa.bindparam("after"),
    )
    .order_by(t.given.c.position)
)
"""Selects a session's imported memories above a position."""


def load_pending_input(
    db: sa.Connection, scope: Scope, session: int, method: str
) -> tuple[list[Turn], list[ImportedMemory]]:
    """Return the session's turns and imported memories that the method has not remembered."""
    scope_id = require_session(db, find_scope(db, scope), session).scope
    progress = load_progress(db, scope_id, session, method)
    same = {"scope_id": scope_id, "number": session}
    turns = db.execute(_SELECT_TURNS_AFTER, {**same, "after": progress.upto if progress else 0})
    imported = db.execute(SELECT_IMPORTED, {**same, "after": progress.given if progress else 0})
    return (
        [turn_from_row(row) for row in turns],
        [imported_memory_from_row(row) for row in imported],
    )


def record_failure(
    db: sa.Connection,
    scope: Scope,
    session: int,
    method: str,
    reason: str,
    *,
    epoch: int | None = None,
) -> None:
    """Count the attempt and store the reason, unless the session is gone or remembered."""
    scope_id = find_scope(db, scope)
    same = (t.session.c.scope == scope_id, t.session.c.id == session)
    if db.execute(sa.select(t.session.c.id).where(*same)).one_or_none() is None:
        return
    progress = load_progress(db, scope_id, session, method)
    if progress is not None and progress.remembered_at is not None:
        return
    if erased_since(db, scope_id, epoch):
        reason = "the reason was erased because something was forgotten meanwhile"
    attempts = (progress.attempts if progress else 0) + 1
    values = {"failure": escape_unstorable(reason), "attempts": attempts}
    save_progress(db, scope_id, session, method, values)
