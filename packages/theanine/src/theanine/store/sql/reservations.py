"""Reservations: parts of a budget for model calls in progress, until they are in the journal.

A process that dies leaves its reservations behind. They end by the database's clock, and at once
where a process of the same machine reads them.
"""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa

from theanine.clock import duration_micros
from theanine.store.processes import is_dead
from theanine.store.sql import schema as t
from theanine.store.sql.holders import DatabaseTime
from theanine.store.sql.journal import sum_costs
from theanine.store.sql.rows import insert_rows
from theanine.store.sql.scopes import find_scope
from theanine.store.values import Reservation, Spending
from theanine.types import Scope


def reserve(db: sa.Connection, scope: Scope, reservation: Reservation, lasting: timedelta) -> int:
    """Insert a reservation and return its number, which is higher than all earlier ones.

    An unknown scope, whose calls aren't journalled, has none: 0.
    """
    scope_id = find_scope(db, scope)
    if not scope_id:
        return 0
    r = t.reservation.c
    now = _now(db)
    newest = db.execute(sa.select(sa.func.max(r.number)).where(r.scope == scope_id)).scalar() or 0
    number = max(newest + 1, now)
    row = {
        "scope": scope_id,
        "number": number,
        "session": reservation.session,
        "holder": reservation.holder,
        "tokens": reservation.tokens,
        "cost": reservation.cost,
        "until": now + duration_micros(lasting),
    }
    insert_rows(db, t.reservation, [row])
    db.execute(t.reservation.delete().where(r.scope == scope_id, r.until < now))
    return number


def load_spending(db: sa.Connection, scope: Scope, before: int) -> Spending:
    """Return the scope's costs, and its living reservations with a number below ``before``."""
    r = t.reservation.c
    query = sa.select(r.session, r.holder, r.tokens, r.cost).where(
        r.scope == find_scope(db, scope), r.number < before, r.until >= _now(db)
    )
    reserved = [Reservation(**row) for row in db.execute(query).mappings()]
    living = tuple(each for each in reserved if not is_dead(each.holder))
    return Spending(costs=tuple(sum_costs(db, scope)), reserved=living)


def renew_reservation(db: sa.Connection, scope: Scope, number: int, lasting: timedelta) -> None:
    """Extend a reservation to a duration from now, unless it was released."""
    until = _now(db) + duration_micros(lasting)
    db.execute(t.reservation.update().where(*_match(db, scope, number)).values(until=until))


def release_reservation(db: sa.Connection, scope: Scope, number: int) -> None:
    """Delete a reservation, if it is still there."""
    db.execute(t.reservation.delete().where(*_match(db, scope, number)))


def _match(db: sa.Connection, scope: Scope, number: int) -> tuple[sa.ColumnElement[bool], ...]:
    r = t.reservation.c
    return r.scope == find_scope(db, scope), r.number == number


def _now(db: sa.Connection) -> int:
    """Return the database's time, read apart: no shard of Citus changes rows by its own clock."""
    return db.execute(sa.select(DatabaseTime())).scalar_one()
