"""Who may remember in a scope: one process at a time, and a dead one never blocks the next."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from theanine.clock import micros
from theanine.store.processes import is_dead, is_local
from theanine.store.sql import schema as t
from theanine.store.sql.rows import find_scope, scope_names, scope_of, session_of
from theanine.types import Scope, Session


def lease(db: sa.Connection, scope: Scope, holder: str, until: datetime, now: datetime) -> bool:
    """Take it, if nobody else has it; of a scope that holds nothing, there is nothing to lease."""
    query = sa.select(t.scope.c.id, t.scope.c.lease_holder, t.scope.c.lease_until)
    row = db.execute(query.where(*_named(scope)).with_for_update()).one_or_none()
    if row is None:
        return False
    mine = row.lease_holder in (None, holder)
    if not mine and row.lease_until > micros(now) and not is_dead(row.lease_holder):
        return False
    db.execute(
        t.scope.update()
        .where(t.scope.c.id == row.id)
        .values(lease_holder=holder, lease_until=micros(until))
    )
    return True


def renew(db: sa.Connection, scope: Scope, holder: str, until: datetime) -> bool:
    """Hold it for longer; False when it is no longer the holder's, as after an erasure."""
    renewed = db.execute(
        t.scope.update()
        .where(*_named(scope), t.scope.c.lease_holder == holder)
        .values(lease_until=micros(until))
    )
    return renewed.rowcount > 0


def release(db: sa.Connection, scope: Scope, holder: str) -> None:
    """Give the lease back if it is still the holder's."""
    db.execute(
        t.scope.update()
        .where(*_named(scope), t.scope.c.lease_holder == holder)
        .values(lease_holder=None, lease_until=None)
    )


def abandoned(
    db: sa.Connection, scope: Scope | None, elsewhere: bool
) -> list[tuple[Scope, Session]]:
    """Open sessions whose process has ended without ending them, or is on another machine."""
    count = (
        sa.select(sa.func.count())
        .where(t.turn.c.scope == t.session.c.scope, t.turn.c.session == t.session.c.id)
        .scalar_subquery()
    )
    query = (
        sa.select(t.scope.c.tenant, t.scope.c.agent, t.scope.c.user, t.session)
        .add_columns(count.label("turn_count"))
        .add_columns(
            sa.null().label("zone"), sa.null().label("remembered_at"), sa.null().label("failure")
        )
        .join_from(t.scope, t.session, t.session.c.scope == t.scope.c.id)
        .where(t.session.c.ended_at.is_(None), t.session.c.holder != "")
        .order_by(t.session.c.scope, t.session.c.id)
    )
    if scope is not None:
        query = query.where(t.scope.c.id == (find_scope(db, scope) or 0))
    rows = db.execute(query).all()
    return [
        (scope_of(row), session_of(row))
        for row in rows
        if is_dead(row.holder) or (elsewhere and not is_local(row.holder))
    ]


def _named(scope: Scope) -> list[sa.ColumnElement[bool]]:
    return [t.scope.c[name] == value for name, value in scope_names(scope).items()]
