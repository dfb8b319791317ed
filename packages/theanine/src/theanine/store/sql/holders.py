"""Processes that hold open sessions: each is alive until a time by the database's clock.

Nothing here asks whether a process runs, so it holds between machines and containers.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

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


def renew_holder(db: sa.Connection, holder: str, lasting: timedelta) -> None:
    """Say that a process lives, and remove those that said so too long ago."""
    h = t.holder.c
    until = DatabaseTime() + lasting // timedelta(microseconds=1)
    renewed = db.execute(t.holder.update().where(h.name == holder).values(until=until))
    if not renewed.rowcount:
        now = db.execute(sa.select(until)).scalar_one()
        insert_rows(db, t.holder, [{"name": holder, "until": now}])
    db.execute(t.holder.delete().where(h.until < DatabaseTime()))


def load_living_holders(db: sa.Connection) -> set[str]:
    """Return the processes that have said in time that they live."""
    query = sa.select(t.holder.c.name).where(t.holder.c.until >= DatabaseTime())
    return set(db.execute(query).scalars())
