"""Everything in the store as records, for a lossless export."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql.default_method import own_method
from theanine.store.sql.export_codec import FORMAT, TABLES, encode, scope_record
from theanine.store.sql.rows import find_scope, scope_of
from theanine.store.sql.vectors import active_embedder
from theanine.types import Scope

_COUNTERS = ("next_session", "next_turn", "next_memory", "next_mark")


def records(db: sa.Connection, scope: Scope | None) -> Iterator[dict[str, Any]]:
    """A header, then scope by scope its rows by type and number; made while they are read."""
    yield {"type": "theanine", "format": FORMAT, "method": own_method(db)}
    query = sa.select(t.scope).order_by(t.scope.c.tenant, t.scope.c.agent, t.scope.c.user)
    if scope is not None:
        query = query.where(t.scope.c.id == (find_scope(db, scope) or 0))
    for row in db.execute(query).all():
        names = scope_of(row)
        counters = {name: getattr(row, name) for name in _COUNTERS}
        yield {"type": "scope", "scope": scope_record(names), **counters}
        for type_, table in TABLES.items():
            if type_ == "vector":
                yield from _vectors(db, row.id, names)
            else:
                yield from _rows(db, row.id, names, type_, table)


def _rows(
    db: sa.Connection, scope_id: int, scope: Scope, type_: str, table: sa.Table
) -> Iterator[dict[str, Any]]:
    query = sa.select(table).where(table.c.scope == scope_id).order_by(*table.primary_key.columns)
    sources, origins = dict[int, list[int]](), dict[int, list[int]]()
    if type_ == "memory":
        sources = _by_memory(db, scope_id, t.source.c.turn)
        origins = _by_memory(db, scope_id, t.origin.c.origin)
    for row in db.execute(query).mappings():
        record = encode(type_, scope, row)
        if type_ == "memory":
            record["sources"] = sources.get(row["id"], [])
            record["origins"] = origins.get(row["id"], [])
        yield record


def _by_memory(db: sa.Connection, scope_id: int, wanted: sa.Column[int]) -> dict[int, list[int]]:
    of = wanted.table.c
    query = sa.select(of.memory, wanted).where(of.scope == scope_id).order_by(wanted)
    found: dict[int, list[int]] = {}
    for row in db.execute(query):
        found.setdefault(row.memory, []).append(row[1])
    return found


def _vectors(db: sa.Connection, scope_id: int, scope: Scope) -> Iterator[dict[str, Any]]:
    """Those in use; an unfinished re-embedding starts again elsewhere."""
    active = active_embedder(db)
    if active is None:
        return
    query = (
        sa.select(t.vector)
        .where(t.vector.c.scope == scope_id, t.vector.c.embedder == active.id)
        .order_by(t.vector.c.memory)
    )
    for row in db.execute(query).mappings():
        values: dict[Any, Any] = {
            **row,
            "embedder": active.name,
            "dimension": active.dimension,
        }
        yield encode("vector", scope, values)
