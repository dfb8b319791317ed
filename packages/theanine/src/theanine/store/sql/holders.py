"""Processes that hold open sessions, and until when each counts as alive.

Times are by the database's clock, so they are valid for processes of any machine or container.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from theanine.clock import duration_micros
from theanine.store.sql import schema as t
from theanine.store.sql.rows import insert_rows


class DatabaseTime(FunctionElement[int]):
    """The database's time in microseconds since 1970 UTC."""

    type = sa.BigInteger()
    inherit_cache = True


@compiles(DatabaseTime, "sqlite")
def _sqlite_now(element: Any, compiler: Any, **options: Any) -> str:
    return "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)"


@compiles(DatabaseTime, "postgresql")
def _postgresql_now(element: Any, compiler: Any, **options: Any) -> str:
    # Of the statement: Citus takes no function in an UPDATE that may change within it.
    return "CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS BIGINT)"


def time_after(duration: timedelta) -> sa.ColumnElement[int]:
    """Return the database's time once a duration has passed."""
    return DatabaseTime() + duration_micros(duration)


def renew_holder(db: sa.Connection, holder: str, lasting: timedelta) -> None:
    """Extend the time until which a process counts as alive; delete those whose time is over."""
    h = t.holder.c
    until = time_after(lasting)
    renewed = db.execute(t.holder.update().where(h.name == holder).values(until=until))
    if not renewed.rowcount:
        now = db.execute(sa.select(until)).scalar_one()
        insert_rows(db, t.holder, [{"name": holder, "until": now}])
    db.execute(t.holder.delete().where(h.until < DatabaseTime()))


def load_living_holders(db: sa.Connection) -> set[str]:
    """Return the processes that count as alive."""
    query = sa.select(t.holder.c.name).where(t.holder.c.until >= DatabaseTime())
    return set(db.execute(query).scalars())
