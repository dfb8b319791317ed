"""Reading what is remembered."""

from __future__ import annotations

from itertools import groupby

import sqlalchemy as sa

from theanine.conversation import Scope
from theanine.memory import Link, Memory
from theanine.store import schema as t
from theanine.store.base import State
from theanine.store.rows import find_scope, link_of, memory_of, scope_names

_state = sa.select(
    t.scope.c.id,
    t.scope.c.epoch,
    t.scope.c.next_memory,
    t.scope.c.next_turn,
    sa.select(t.embedder.c.name).where(t.embedder.c.active).scalar_subquery().label("embedder"),
).where(
    t.scope.c.tenant == sa.bindparam("tenant"),
    t.scope.c.agent == sa.bindparam("agent"),
    t.scope.c.user == sa.bindparam("user"),
)


def state(db: sa.Connection, scope: Scope) -> State:
    """The scope's version, in one select."""
    row = db.execute(_state, scope_names(scope)).one_or_none()
    if row is None:
        return State()
    return State(
        scope_id=row.id,
        epoch=row.epoch,
        memories=row.next_memory - 1,
        turns=row.next_turn - 1,
        embedder=row.embedder or "",
    )


def memories(
    db: sa.Connection, scope: Scope, method: str | None, after: int, upto: int
) -> list[Memory]:
    """Memories numbered above ``after`` and up to ``upto``, with their sources."""
    scope_id = find_scope(db, scope)
    if scope_id is None:
        return []
    query = (
        sa.select(t.memory)
        .where(t.memory.c.scope == scope_id, t.memory.c.id > after, t.memory.c.id <= upto)
        .order_by(t.memory.c.id)
    )
    if method is not None:
        query = query.where(t.memory.c.method == method)
    sources = db.execute(
        sa.select(t.source.c.memory, t.source.c.turn)
        .where(t.source.c.scope == scope_id)
        .where(t.source.c.memory > after, t.source.c.memory <= upto)
        .order_by(t.source.c.memory, t.source.c.turn)
    )
    grouped = {
        memory: tuple(row.turn for row in rows)
        for memory, rows in groupby(sources, key=lambda row: row.memory)
    }
    return [memory_of(row, grouped.get(row.id, ())) for row in db.execute(query)]


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
