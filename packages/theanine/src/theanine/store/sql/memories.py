"""Reading what is remembered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql.rows import (
    SELECT_MEMORIES,
    SELECT_TURNS,
    chunks,
    find,
    find_scope,
    link_of,
    mark_of,
    memory_of,
    scope_names,
    turn_of,
)
from theanine.store.values import ScopeVersion
from theanine.types import Link, Mark, Memory, Scope, Turn

_state = sa.select(
    t.scope.c.id,
    t.scope.c.epoch,
    t.scope.c.next_memory,
    t.scope.c.next_turn,
    t.scope.c.next_mark,
    sa.select(t.embedder.c.name).where(t.embedder.c.active).scalar_subquery().label("embedder"),
).where(
    t.scope.c.tenant == sa.bindparam("tenant"),
    t.scope.c.agent == sa.bindparam("agent"),
    t.scope.c.user == sa.bindparam("user"),
)


def state(db: sa.Connection, scope: Scope) -> ScopeVersion:
    """The scope's version, in one select."""
    row = db.execute(_state, scope_names(scope)).one_or_none()
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


def memories(
    db: sa.Connection,
    scope: Scope,
    method: str | None,
    after: int,
    upto: int,
    ids: Sequence[int] | None,
) -> list[Memory]:
    """Memories numbered above ``after`` and up to ``upto``, or those of ``ids`` among them."""
    scope_id = find_scope(db, scope)
    if scope_id is None:
        return []
    if ids is None:
        return _memories(db, scope_id, method, lambda number: number.between(after + 1, upto))
    wanted = sorted({number for number in ids if after < number <= upto})
    return [
        memory
        for some in chunks(wanted)
        for memory in _memories(db, scope_id, method, lambda number, some=some: number.in_(some))
    ]


_Where = Callable[[sa.Column[int]], sa.ColumnElement[bool]]
"""Which memories are wanted, by the column that has their numbers."""


def _memories(db: sa.Connection, scope_id: int, method: str | None, where: _Where) -> list[Memory]:
    m = t.memory.c
    query = SELECT_MEMORIES.where(m.scope == scope_id, where(m.id)).order_by(m.id)
    if method is not None:
        query = query.where(m.method == method)
    sources = _by_memory(db, t.source.c.turn, scope_id, where)
    origins = _by_memory(db, t.origin.c.origin, scope_id, where)
    return [
        memory_of(row, sources.get(row.id, ()), origins.get(row.id, ()))
        for row in db.execute(query)
    ]


def _by_memory(
    db: sa.Connection, wanted: sa.Column[int], scope_id: int, where: _Where
) -> dict[int, tuple[int, ...]]:
    """The numbers of a column for each memory, in order."""
    of = wanted.table.c
    rows = db.execute(
        sa.select(of.memory, wanted)
        .where(of.scope == scope_id, where(of.memory))
        .order_by(of.memory, wanted)
    )
    return {
        memory: tuple(row[1] for row in some)
        for memory, some in groupby(rows, key=lambda row: row.memory)
    }


def marks(db: sa.Connection, scope: Scope, method: str | None, after: int) -> list[Mark]:
    """Marks numbered above ``after``, in order of number."""
    scope_id = find_scope(db, scope)
    query = sa.select(t.mark).where(t.mark.c.scope == (scope_id or 0), t.mark.c.id > after)
    if method is not None:
        query = query.where(t.mark.c.method == method)
    return [mark_of(row) for row in db.execute(query.order_by(t.mark.c.id))]


def recalls(db: sa.Connection, scope: Scope, after: int) -> list[Turn]:
    """Turns numbered above ``after`` whose speaker had memories before them."""
    names = scope_names(scope)
    here = (t.turn.c.scope == find.scalar_subquery(), t.turn.c.id > after)
    query = SELECT_TURNS.where(*here, t.turn.c.recalled != "[]").order_by(t.turn.c.id)
    return [turn_of(row) for row in db.execute(query, names)]


def links(db: sa.Connection, scope: Scope, method: str | None, after: int, upto: int) -> list[Link]:
    """Links whose newer memory is numbered above ``after`` and up to ``upto``."""
    scope_id = find_scope(db, scope)
    if scope_id is None:
        return []
    query = (
        sa.select(t.link)
        .where(t.link.c.scope == scope_id, t.link.c.newer > after, t.link.c.newer <= upto)
        .order_by(t.link.c.newer, t.link.c.older)
    )
    if method is not None:
        query = query.where(t.link.c.method == method)
    return [link_of(row) for row in db.execute(query)]
