"""What waits to be remembered, and the one transaction that commits what a method made of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from theanine.clock import micros, moment
from theanine.errors import LeaseLost, NotFound
from theanine.store.sql import schema as t
from theanine.store.sql.batch import Batch, check
from theanine.store.sql.rows import (
    SELECT_TURNS,
    erased_since,
    find_scope,
    given_of,
    insert,
    keepable,
    need_session,
    scope_of,
    turn_of,
)
from theanine.store.values import Pending
from theanine.types import ImportedMemory, Memory, MemoryBatch, Scope, Turn


def pending(db: sa.Connection, method: str, scope: Scope | None) -> list[Pending]:
    """Ended sessions whose mark by ``method`` is missing or unset."""
    mark = sa.and_(
        t.remembering.c.scope == t.session.c.scope,
        t.remembering.c.session == t.session.c.id,
        t.remembering.c.method == method,
    )
    query = (
        sa.select(t.scope.c.tenant, t.scope.c.agent, t.scope.c.user)
        .add_columns(t.session.c.id, t.remembering.c.attempts, t.remembering.c.failure)
        .join_from(t.scope, t.session, t.session.c.scope == t.scope.c.id)
        .outerjoin(t.remembering, mark)
        .where(t.session.c.ended_at.is_not(None), t.remembering.c.remembered_at.is_(None))
        .order_by(t.scope.c.id, t.session.c.started_at, t.session.c.id)
    )
    if scope is not None:
        query = query.where(t.scope.c.id == (find_scope(db, scope) or 0))
    return [
        Pending(
            scope=scope_of(row),
            session=row.id,
            method=method,
            attempts=row.attempts or 0,
            failure=row.failure,
        )
        for row in db.execute(query)
    ]


def unremembered(
    db: sa.Connection, scope: Scope, session: int, method: str
) -> tuple[list[Turn], list[ImportedMemory]]:
    """Turns and ready-made memories behind the method's mark."""
    scope_id = find_scope(db, scope)
    need_session(db, scope_id, session)
    assert scope_id is not None
    mark = _mark(db, scope_id, session, method)
    turns = db.execute(_turns_behind(scope_id, session, mark.upto if mark else 0))
    given = db.execute(_given_behind(scope_id, session, mark.given if mark else 0))
    return [turn_of(row) for row in turns], [given_of(row) for row in given]


def _turns_behind(scope_id: int, session: int, upto: int) -> sa.Select[Any]:
    here = (t.turn.c.scope == scope_id, t.turn.c.session == session)
    return SELECT_TURNS.where(*here, t.turn.c.id > upto).order_by(t.turn.c.id)


def _given_behind(scope_id: int, session: int, upto: int) -> sa.Select[Any]:
    here = (t.given.c.scope == scope_id, t.given.c.session == session)
    return sa.select(t.given).where(*here, t.given.c.position > upto).order_by(t.given.c.position)


def _mark(db: sa.Connection, scope_id: int, session: int, method: str) -> sa.Row[Any] | None:
    query = sa.select(t.remembering).where(
        t.remembering.c.scope == scope_id,
        t.remembering.c.session == session,
        t.remembering.c.method == method,
    )
    return db.execute(query).one_or_none()


def commit(
    db: sa.Connection,
    scope: Scope,
    session: int,
    method: str,
    remembered: MemoryBatch,
    embedder: str,
    holder: str,
    at: datetime,
    seen: tuple[int, int] | None,
) -> list[Memory]:
    """Number and insert everything, and move the method's mark; twice is the same as once."""
    row = db.execute(
        sa.select(t.scope.c.id, t.scope.c.lease_holder)
        .where(t.scope.c.id == (find_scope(db, scope) or 0))
        .with_for_update()
    ).one_or_none()
    if row is None:
        raise NotFound(f"there is no session {session} any more: its user was forgotten")
    ended = need_session(db, row.id, session)
    if ended.ended_at is None:
        raise NotFound(f"session {session} has not ended yet; end it before remembering it")
    if row.lease_holder != holder:
        raise LeaseLost(
            f"session {session} was not committed: another process took over remembering, or "
            "something was forgotten meanwhile; nothing is lost, the next `remember` does it"
        )
    if not _move_mark(db, row.id, session, method, at, seen):
        return []
    check(db, row.id, remembered)
    batch = Batch(db, row.id, session, method)
    return batch.insert(remembered, embedder, moment(ended.ended_at))


def _move_mark(
    db: sa.Connection,
    scope_id: int,
    session: int,
    method: str,
    at: datetime,
    seen: tuple[int, int] | None,
) -> bool:
    """Advance the mark over what was seen. False when it already stands there.

    Turns that were logged while the method worked stay behind it and keep the session pending.
    """
    old = _mark(db, scope_id, session, method)
    start = (old.upto, old.given) if old else (0, 0)
    turns = [row.id for row in db.execute(_turns_behind(scope_id, session, start[0]))]
    given = [row.position for row in db.execute(_given_behind(scope_id, session, start[1]))]
    end = (max(turns, default=start[0]), max(given, default=start[1]))
    if old is not None and old.remembered_at is not None:
        return False
    mark = end
    if seen is not None:
        mark = (max(seen[0], start[0]), _nth(given, seen[1], start[1]))
        if mark == start and mark != end:
            return False
    done = mark[0] >= end[0] and mark[1] >= end[1]
    values: dict[str, Any] = {
        "upto": mark[0],
        "given": mark[1],
        "failure": None,
        "remembered_at": micros(at) if done else None,
    }
    _set_mark(db, scope_id, session, method, values, known=old is not None)
    return True


def _nth(positions: list[int], count: int, otherwise: int) -> int:
    """The position of the ``count``-th ready-made memory behind the mark."""
    return positions[min(count, len(positions)) - 1] if positions and count > 0 else otherwise


def _set_mark(
    db: sa.Connection,
    scope_id: int,
    session: int,
    method: str,
    values: dict[str, Any],
    *,
    known: bool,
) -> None:
    key = {"scope": scope_id, "session": session, "method": method}
    if not known:
        insert(db, t.remembering, [{**key, **values}])
        return
    here = [t.remembering.c[name] == value for name, value in key.items()]
    db.execute(t.remembering.update().where(*here).values(values))


def record_failure(
    db: sa.Connection, scope: Scope, session: int, method: str, reason: str, epoch: int | None
) -> None:
    """Count the attempt and keep the reason; nothing to note once the session is gone or done."""
    scope_id = find_scope(db, scope)
    if scope_id is None:
        return
    here = (t.session.c.scope == scope_id, t.session.c.id == session)
    if db.execute(sa.select(t.session.c.id).where(*here)).one_or_none() is None:
        return
    old = _mark(db, scope_id, session, method)
    if old is not None and old.remembered_at is not None:
        return
    if erased_since(db, scope_id, epoch):
        reason = "something was forgotten meanwhile"
    values = {"failure": keepable(reason), "attempts": (old.attempts if old else 0) + 1}
    _set_mark(db, scope_id, session, method, values, known=old is not None)
