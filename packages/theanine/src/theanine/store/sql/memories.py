"""Reading memories, links and marks, and the version of a scope's contents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql.rows import (
    SELECT_MEMORIES,
    SELECT_SCOPE_ID,
    chunks,
    find_scope,
    link_from_row,
    mark_from_row,
    memory_from_row,
    scope_params,
)
from theanine.store.values import ScopeVersion
from theanine.types import Link, Mark, Memory, Scope

_ACTIVE_EMBEDDER = sa.select(t.embedder.c.name).where(t.embedder.c.active).scalar_subquery()
_SELECT_VERSION = SELECT_SCOPE_ID.add_columns(
    t.scope.c.epoch,
    t.scope.c.next_memory,
    t.scope.c.next_turn,
    t.scope.c.next_mark,
    _ACTIVE_EMBEDDER.label("embedder"),
)


def load_scope_version(db: sa.Connection, scope: Scope) -> ScopeVersion:
    """Return the scope's version, in one select."""
    row = db.execute(_SELECT_VERSION, scope_params(scope)).one_or_none()
    if row is None:
        return ScopeVersion()
    return ScopeVersion(
        scope_id=row.id,
        epoch=row.epoch,
        memories=row.next_memory - 1,
        turns=row.next_turn - 1,
        marks=row.next_mark - 1,
        embedder=row.embedder or "",
    )


def load_memories(
    db: sa.Connection,
    scope: Scope,
    method: str | None,
    after: int,
    upto: int,
    ids: Sequence[int] | None,
) -> list[Memory]:
    """Return memories numbered above ``after``, up to ``upto``, and of ``ids`` if given."""
    scope_id = find_scope(db, scope)
    if scope_id is None:
        return []
    if ids is None:
        return _load(db, scope_id, method, lambda number: number.between(after + 1, upto))
    numbers = sorted({number for number in ids if after < number <= upto})
    return [
        memory
        for some in chunks(numbers)
        for memory in _load(db, scope_id, method, lambda number, some=some: number.in_(some))
    ]


_Filter = Callable[[sa.Column[int]], sa.ColumnElement[bool]]
"""A condition on a column with memory numbers."""


def _load(db: sa.Connection, scope_id: int, method: str | None, where: _Filter) -> list[Memory]:
    m = t.memory.c
    query = SELECT_MEMORIES.where(m.scope == scope_id, where(m.id)).order_by(m.id)
    if method is not None:
        query = query.where(m.method == method)
    sources = _load_by_memory(db, t.source.c.turn, scope_id, where)
    origins = _load_by_memory(db, t.origin.c.origin, scope_id, where)
    return [
        memory_from_row(row, sources.get(row.id, ()), origins.get(row.id, ()))
        for row in db.execute(query)
    ]


def _load_by_memory(
    db: sa.Connection, column: sa.Column[int], scope_id: int, where: _Filter
) -> dict[int, tuple[int, ...]]:
    """Return the column's numbers for each memory, ascending."""
    c = column.table.c
    rows = db.execute(
        sa.select(c.memory, column)
        .where(c.scope == scope_id, where(c.memory))
        .order_by(c.memory, column)
    )
    return {
        memory: tuple(number for _, number in pairs)
        for memory, pairs in groupby(rows, key=lambda row: row.memory)
    }


def load_links(
    db: sa.Connection, scope: Scope, method: str | None, after: int, upto: int
) -> list[Link]:
    """Return links whose newer memory is numbered above ``after`` and up to ``upto``."""
    scope_id = find_scope(db, scope) or 0
    query = (
        sa.select(t.link)
        .where(t.link.c.scope == scope_id, t.link.c.newer > after, t.link.c.newer <= upto)
        .order_by(t.link.c.newer, t.link.c.older)
    )
    if method is not None:
        query = query.where(t.link.c.method == method)
    return [link_from_row(row) for row in db.execute(query)]


def load_marks(db: sa.Connection, scope: Scope, method: str | None, after: int) -> list[Mark]:
    """Return marks numbered above ``after``."""
    scope_id = find_scope(db, scope) or 0
    query = sa.select(t.mark).where(t.mark.c.scope == scope_id, t.mark.c.id > after)
    if method is not None:
        query = query.where(t.mark.c.method == method)
    return [mark_from_row(row) for row in db.execute(query.order_by(t.mark.c.id))]
