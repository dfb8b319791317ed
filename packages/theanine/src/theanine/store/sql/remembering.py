"""Progress of remembering by method and session, and the default method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from theanine.store.notifications import note_pending
from theanine.store.sql import schema as t
from theanine.store.sql.rows import (
    SELECT_TURNS,
    imported_memory_from_row,
    insert_rows,
    require_session,
    turn_from_row,
)
from theanine.store.sql.scopes import (
    find_scope,
)
from theanine.store.sql.versions import add_setting, count_store_change
from theanine.types import ImportedMemory, Scope, Turn

_DEFAULT_METHOD = "method"  # name of the setting


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
    note_pending(db)


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
