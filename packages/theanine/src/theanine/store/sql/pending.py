"""Sessions that wait to be remembered, failed, or were set aside.

The time until the next try is the database's, as that of leases.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from theanine.clock import moment
from theanine.errors import BadInput
from theanine.store.notifications import note_pending
from theanine.store.sql import schema as t
from theanine.store.sql.holders import DatabaseTime, time_after
from theanine.store.sql.leases import IS_LEASED, has_died, require_lease, revoke_lease
from theanine.store.sql.memories import read_hidden
from theanine.store.sql.outbox import announce
from theanine.store.sql.remembering import load_progress, save_progress
from theanine.store.sql.rows import escape_unstorable, insert_rows, require_session
from theanine.store.sql.scopes import erased_since, find_scope, load_with_scopes, scope_key
from theanine.store.values import Pending, PendingState
from theanine.types import Scope

_R = t.remembering.c
_IS_DUE = sa.or_(_R.retry_at.is_(None), _R.retry_at <= DatabaseTime())
_STATES: dict[str, PendingState] = {"failed": "set aside", "cancelled": "cancelled"}
"""The state of a session by the reason for which it was set aside."""


# reading


def load_pending(
    db: sa.Connection,
    method: str,
    scope: Scope | None = None,
    *,
    set_aside: bool = True,
    cancelled: bool = False,
    limit: int | None = None,
) -> list[Pending]:
    """Return ended sessions that the method has not remembered, per scope in time order."""
    progress = sa.and_(
        _R.scope == t.session.c.scope, _R.session == t.session.c.id, _R.method == method
    )
    own = scope_key(db, t.session.c.scope, scope)
    holds_something = [  # after all of it was forgotten, only tombstones may be left
        sa.exists(table.c.session).where(table.c.scope == own, table.c.session == t.session.c.id)
        for table in (t.turn, t.given)
    ]
    query = (
        sa.select(t.session.c.id, _R.attempts, _R.failure, _R.retry_at, _R.set_aside)
        .add_columns(_IS_DUE.label("due"), IS_LEASED.label("leased"), t.scope_state.c.hidden)
        .select_from(t.session)
        .join(t.scope_state, t.scope_state.c.scope == t.session.c.scope)
        .outerjoin(t.remembering, progress)
        .where(t.session.c.ended_at.is_not(None), _R.remembered_at.is_(None))
        .where(sa.or_(*holds_something))
        .order_by(t.session.c.scope, t.session.c.started_at, t.session.c.id)
    )
    if not set_aside:
        query = query.where(_R.set_aside.is_(None))
    elif not cancelled:
        query = query.where(_R.set_aside.is_distinct_from("cancelled"))
    loaded = load_with_scopes(db, query.limit(limit), t.session.c.scope, scope)
    rows = _leave_out_hidden(loaded)
    if len(rows) < len(loaded) == limit:  # there may be others behind those
        rows = _leave_out_hidden(load_with_scopes(db, query, t.session.c.scope, scope))[:limit]
    return [
        pending
        for _, of_scope in groupby(rows, key=lambda item: item[0])
        for pending in _of_scope(list(of_scope), method)
    ]


def _leave_out_hidden(rows: list[tuple[Scope, sa.Row[Any]]]) -> list[tuple[Scope, sa.Row[Any]]]:
    """Leave out sessions that are hidden until they are erased; they are not remembered."""
    return [row for row in rows if not read_hidden(row[1].hidden).has_session(row[1].id)]


def _of_scope(rows: list[tuple[Scope, sa.Row[Any]]], method: str) -> list[Pending]:
    """Return the pending sessions of one scope; if it is leased, the first due one is running."""
    next_one = next((row for _, row in rows if row.due and row.set_aside is None), None)
    return [
        Pending(
            scope=scope,
            session=row.id,
            method=method,
            attempts=row.attempts or 0,
            failure=row.failure,
            state="running" if row is next_one and row.leased else _state(row),
            retry_at=None if row.retry_at is None else moment(row.retry_at),
            due=bool(row.due),
        )
        for scope, row in rows
    ]


def _state(row: sa.Row[Any]) -> PendingState:
    if row.set_aside is not None:
        return _STATES[row.set_aside]
    return "waiting" if row.failure is None else "failed"


def load_due_scopes(
    db: sa.Connection, method: str, *, after: int = 0, limit: int
) -> tuple[list[Scope], int]:
    """Return scopes with a due session and no lease, and the number from which to continue.

    The index ``remembering_pending`` has what is due.
    """
    waiting = (_R.method == method, _R.remembered_at.is_(None), _R.set_aside.is_(None), _IS_DUE)
    found = _load_page(db, _R.scope, waiting, after, limit)
    state = t.scope_state.c
    leases = sa.select(state.lease_holder).add_columns(IS_LEASED.label("leased"))
    leases = leases.order_by(state.scope)
    rows = load_with_scopes(db, leases.where(state.scope.in_(found)), state.scope, None)
    scopes = [scope for scope, row in rows if not row.leased or has_died(db, row.lease_holder)]
    return scopes, found[-1] if len(found) == limit else 0


def load_unmarked_scopes(
    db: sa.Connection, method: str, *, after: int = 0, limit: int
) -> tuple[list[Scope], int]:
    """Return scopes with an ended session of which the method has no progress."""
    unmarked = _is_unmarked(t.session.c.scope, method)
    found = _load_page(db, t.session.c.scope, unmarked, after, limit)
    state = t.scope_state.c
    query = sa.select(state.scope).where(state.scope.in_(found)).order_by(state.scope)
    scopes = [scope for scope, _ in load_with_scopes(db, query, state.scope, None)]
    return scopes, found[-1] if len(found) == limit else 0


def _load_page(
    db: sa.Connection,
    column: sa.Column[int],
    where: Sequence[sa.ColumnElement[bool]],
    after: int,
    limit: int,
) -> list[int]:
    """Return the numbers of the next scopes that have such a row."""
    query = sa.select(column).where(*where, column > after).distinct()
    return list(db.execute(query.order_by(column).limit(limit)).scalars())


def _is_unmarked(
    scope_id: sa.ColumnElement[int], method: str
) -> tuple[sa.ColumnElement[bool], ...]:
    same = (_R.scope == scope_id, _R.session == t.session.c.id, _R.method == method)
    return (t.session.c.ended_at.is_not(None), ~sa.exists(_R.session).where(*same))


# changing


def mark_all_pending(db: sa.Connection, scope: Scope, method: str) -> None:
    """Mark ended sessions of which the method has no progress as pending for it."""
    scope_id = find_scope(db, scope)
    unmarked = _is_unmarked(sa.literal(scope_id), method)
    query = sa.select(t.session.c.id).where(t.session.c.scope == scope_id, *unmarked)
    sessions = db.execute(query).scalars()
    key = {"scope": scope_id, "method": method}
    insert_rows(db, t.remembering, [{**key, "session": session} for session in sessions])


def record_failure(
    db: sa.Connection,
    scope: Scope,
    session: int,
    method: str,
    reason: str,
    *,
    lease: int,
    retry_in: timedelta | None = None,
    holds_up: bool = False,
    epoch: int | None = None,
) -> None:
    """Count a failed attempt and store its reason, unless the session is gone or remembered."""
    scope_id = find_scope(db, scope)
    same = (t.session.c.scope == scope_id, t.session.c.id == session)
    if db.execute(sa.select(t.session.c.id).where(*same)).one_or_none() is None:
        return
    require_lease(db, scope_id, lease, session)
    progress = load_progress(db, scope_id, session, method)
    if progress is not None and progress.remembered_at is not None:
        return
    if erased_since(db, scope_id, epoch):
        reason = "the reason was erased because something was forgotten meanwhile"
    values: dict[str, Any] = {
        "failure": escape_unstorable(reason),
        "attempts": (progress.attempts if progress else 0) + 1,
        "retry_at": None,
        "set_aside": "failed",
    }
    if retry_in is not None:
        retry_at = db.execute(sa.select(time_after(retry_in))).scalar_one()
        values |= {"retry_at": retry_at, "set_aside": None}
        if holds_up:  # else workers would look at this scope again and again
            earlier = sa.or_(_R.retry_at.is_(None), _R.retry_at < retry_at)
            waiting = (*_of_method(scope_id, method), _R.set_aside.is_(None), earlier)
            db.execute(t.remembering.update().where(*waiting).values(retry_at=retry_at))
    save_progress(db, scope_id, session, method, values)
    data = {
        "session": session,
        "method": method,
        "tries": values["attempts"],
        "set_aside": retry_in is None,
    }
    announce(db, scope.tenant, scope.user, scope.agent, "session.failed", data)


def retry_sessions(db: sa.Connection, scope: Scope, method: str, session: int | None = None) -> int:
    """Queue failed, set-aside or cancelled sessions again, with attempts counted from 0.

    With ``session``, a process that is remembering it loses its lease.
    """
    scope_id = find_scope(db, scope)
    match = _of_method(scope_id, method)
    if session is None:
        tried = (_R.set_aside.is_not(None), _R.retry_at.is_not(None), _R.attempts > 0)
        match = (*match, sa.or_(*tried))
    else:
        _require_pending(db, scope_id, session, method)
        revoke_lease(db, scope_id)
        match = (*match, _R.session == session)
    fresh = {"attempts": 0, "failure": None, "retry_at": None, "set_aside": None}
    changed = db.execute(t.remembering.update().where(*match).values(fresh)).rowcount
    note_pending(db)
    return changed if session is None else 1


def cancel_session(db: sa.Connection, scope: Scope, method: str, session: int) -> bool:
    """Cancel remembering a session, even in progress; False if it was cancelled before."""
    scope_id = find_scope(db, scope)
    progress = _require_pending(db, scope_id, session, method)
    if progress is not None and progress.set_aside == "cancelled":
        return False
    revoke_lease(db, scope_id)
    values = {"set_aside": "cancelled", "retry_at": None}
    save_progress(db, scope_id, session, method, values)
    return True


def _require_pending(
    db: sa.Connection, scope_id: int, session: int, method: str
) -> sa.Row[Any] | None:
    """Return the progress of a pending session. Raises NotFound and BadInput."""
    if require_session(db, scope_id, session).ended_at is None:
        raise BadInput(f"session {session} is still open; it waits for nothing before its end")
    progress = load_progress(db, scope_id, session, method)
    if progress is not None and progress.remembered_at is not None:
        raise BadInput(
            f"session {session} is remembered; `theanine rebuild --again` remembers all again, and "
            "`theanine forget` erases"
        )
    return progress


def _of_method(scope_id: int, method: str) -> tuple[sa.ColumnElement[bool], ...]:
    return (_R.scope == scope_id, _R.method == method, _R.remembered_at.is_(None))
