"""Scopes: their numbers, names and state.

The names are in a table of their own, which only this module reads for the work of one scope: it
looks the number up, and every statement then begins with that. What concerns all scopes reads the
names by their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql import walls
from theanine.store.sql.rows import Columns, chunks
from theanine.store.sql.versions import first_revision
from theanine.types import Scope

_SELECT_NUMBER = sa.select(t.scope.c.id).where(
    t.scope.c.tenant == sa.bindparam("tenant"),
    t.scope.c.agent == sa.bindparam("agent"),
    t.scope.c.user == sa.bindparam("user"),
)
_NAMES = (t.scope.c.tenant, t.scope.c.agent, t.scope.c.user)
_NUMBERS = "theanine_scope_numbers"  # option of a connection


# names and numbers


def scope_params(scope: Scope) -> dict[str, str]:
    """Return the columns that identify a scope."""
    return {"tenant": scope.tenant, "agent": scope.agent, "user": scope.user}


def scope_from_row(row: Any) -> Scope:
    """Return the scope of a row with its three names."""
    return Scope(user=row.user, agent=row.agent, tenant=row.tenant)


def cache_numbers(db: sa.Connection, numbers: dict[Scope, int]) -> sa.Connection:
    """Have a connection look up each scope once. ``numbers`` must not outlive the transaction.

    Unless it is cleared whenever the database may have changed.
    """
    return db.execution_options(**{_NUMBERS: numbers})


def find_scope(db: sa.Connection, scope: Scope) -> int:
    """Return the scope's number; 0, which no row has, if nothing was ever written to it."""
    numbers: dict[Scope, int] = db.get_execution_options().get(_NUMBERS, {})
    if scope not in numbers:
        number = look_up_scope(db, scope)
        if not number:
            return 0
        walls.open_to_scope(db, number)
        numbers[scope] = number
    return numbers[scope]


def look_up_scope(db: sa.Connection, scope: Scope) -> int:
    """Return what :func:`find_scope` does, for work that concerns several scopes."""
    return db.execute(_SELECT_NUMBER, scope_params(scope)).scalar_one_or_none() or 0


def ensure_scope(db: sa.Connection, scope: Scope) -> int:
    """Return the scope's number, creating it if need be."""
    if number := find_scope(db, scope):
        return number
    return create_scope(db, scope_params(scope), revision=first_revision(db))


def create_scope(db: sa.Connection, names: Mapping[str, Any], **state: Any) -> int:
    """Insert a scope and its state; return its number."""
    created = db.execute(t.scope.insert().values(names)).inserted_primary_key
    number = int(created[0]) if created else 0
    walls.open_to_scope(db, number)
    db.execute(t.scope_state.insert().values(scope=number, **state))
    return number


def load_scope_ids(db: sa.Connection, scope: Scope | None) -> list[int]:
    """Return the number of one scope (none if it is unknown), or those of all scopes."""
    if scope is not None:
        return [number] if (number := find_scope(db, scope)) else []
    return list(db.execute(sa.select(t.scope.c.id).order_by(t.scope.c.id)).scalars())


def load_named_scopes(db: sa.Connection) -> list[tuple[Scope, int]]:
    """Return all scopes with their numbers, sorted by tenant, agent and user."""
    query = sa.select(t.scope).order_by(*_NAMES)
    return [(scope_from_row(row), int(row.id)) for row in db.execute(query)]


def scope_key(
    db: sa.Connection, column: sa.Column[int], scope: Scope | None
) -> sa.ColumnElement[int]:
    """Return what the columns of a subquery must equal: a scope's number, or the outer column."""
    return column if scope is None else sa.literal(find_scope(db, scope))


def load_with_scopes(
    db: sa.Connection, query: sa.Select[*Columns], column: sa.Column[int], scope: Scope | None
) -> list[tuple[Scope, Any]]:
    """Return the rows of one scope, or those of all with theirs; ``column`` has its number.

    The names are read by themselves: where the other tables are distributed, they can't be joined.
    """
    if scope is not None:
        rows = db.execute(query.where(column == find_scope(db, scope)))
        return [(scope, row) for row in rows]
    found: list[Any] = [*db.execute(query.add_columns(column.label("scope_number")))]
    owners = {
        row.id: scope_from_row(row)
        for some in chunks(sorted({row.scope_number for row in found}))
        for row in db.execute(sa.select(t.scope).where(t.scope.c.id.in_(some)))
    }
    return [(owners[row.scope_number], row) for row in found if row.scope_number in owners]


# state


def unique_epoch(scope_id: int, epoch: int) -> int:
    """Return ``ScopeVersion.epoch``: a scope made anew under forgotten names repeats none."""
    return scope_id << 32 | epoch


def erased_since(db: sa.Connection, scope_id: int, epoch: int | None) -> bool:
    """Return whether anything was erased since ``ScopeVersion.epoch``.

    False for None, and for the epoch of an unknown scope, which had nothing that could be erased.
    """
    if not epoch:
        return False
    query = sa.select(t.scope_state.c.epoch).where(t.scope_state.c.scope == scope_id)
    return unique_epoch(scope_id, db.execute(query).scalar_one()) != epoch


def update_state(db: sa.Connection, scope_id: int, **values: Any) -> None:
    """Set columns of a scope's state."""
    state = t.scope_state
    db.execute(state.update().where(state.c.scope == scope_id).values(values))


def invalidate_scope(db: sa.Connection, scope_id: int) -> None:
    """Start a new epoch, which makes every cache stale, and revoke the lease."""
    epoch = t.scope_state.c.epoch + 1
    update_state(db, scope_id, epoch=epoch, lease_holder=None, lease_until=None)


# Built once: SQLAlchemy takes longer to build them than SQLite to run them.
_IS_SCOPE = t.scope_state.c.scope == sa.bindparam("scope_id")
_TAKE_NUMBERS = {
    counter: t.scope_state.update()
    .where(_IS_SCOPE)
    .values({counter: t.scope_state.c[counter] + sa.bindparam("count")})
    .returning(t.scope_state.c[counter])
    for counter in ("next_session", "next_memory", "next_mark")
}


def take_numbers(db: sa.Connection, scope_id: int, counter: str, count: int) -> int:
    """Advance one of the scope's counters by ``count`` and return the first number."""
    params = {"scope_id": scope_id, "count": count}
    return int(db.execute(_TAKE_NUMBERS[counter], params).scalar_one()) - count
