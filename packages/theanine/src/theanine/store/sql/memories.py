"""Reading memories, links and marks, and the version of a scope's contents."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from theanine.clock import moment
from theanine.store.sql import schema as t
from theanine.store.sql.rows import (
    SELECT_MEMORIES,
    SELECT_SCOPE_ID,
    chunks,
    find_scope,
    local_time,
    numbered,
    read_metadata,
    scope_params,
)
from theanine.store.values import ScopeVersion
from theanine.types import Link, Mark, Memory, Relation, Scope

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
    *,
    method: str | None = None,
    after: int = 0,
    upto: int | None = None,
    ids: Sequence[int] | None = None,
) -> list[Memory]:
    """Return memories numbered above ``after``, up to ``upto``, and of ``ids`` if given."""
    scope_id = find_scope(db, scope)
    if ids is None:
        return _load(db, scope_id, method, lambda number: numbered(number, after, upto))
    numbers = sorted({id for id in ids if after < id and (upto is None or id <= upto)})
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
    sources = load_by_memory(db, t.source.c.turn, scope_id, where)
    origins = load_by_memory(db, t.origin.c.origin, scope_id, where)
    return [
        Memory(
            id=row.id,
            session=row.session,
            text=row.text,
            at=local_time(row.at, row.zone),
            session_ended_at=moment(row.made_at),
            kind=row.kind,
            speakers=tuple(json.loads(row.speakers)),
            source_turns=sources.get(row.id, ()),
            derived_from=origins.get(row.id, ()),
            method=row.method,
            made_by=row.made_by,
            prompt=row.prompt,
            dated=bool(row.dated),
            metadata=read_metadata(row.metadata),
        )
        for row in db.execute(query)
    ]


def load_by_memory(
    db: sa.Connection, column: sa.Column[int], scope_id: int, where: _Filter
) -> dict[int, tuple[int, ...]]:
    """Return the numbers in a column of ``source`` or ``origin``, ascending, for each memory."""
    c = column.table.c
    query = sa.select(c.memory, column).where(c.scope == scope_id, where(c.memory))
    rows = db.execute(query.order_by(c.memory, column))
    return {
        memory: tuple(number for _, number in pairs)
        for memory, pairs in groupby(rows, key=lambda row: row.memory)
    }


_SELECT_LINKS = sa.select(*(t.link.c[field.name] for field in fields(Link)))
_SELECT_MARKS = sa.select(*(t.mark.c[field.name] for field in fields(Mark)))


def load_links(
    db: sa.Connection,
    scope: Scope,
    *,
    method: str | None = None,
    after: int = 0,
    upto: int | None = None,
) -> list[Link]:
    """Return links whose newer memory is numbered above ``after`` and up to ``upto``."""
    link = t.link.c
    query = _SELECT_LINKS.where(link.scope == find_scope(db, scope))
    query = query.where(numbered(link.newer, after, upto)).order_by(link.newer, link.older)
    if method is not None:
        query = query.where(link.method == method)
    links: list[Link] = []
    for row in db.execute(query).mappings():
        values: dict[str, Any] = dict(row)
        if values["relation"] is not None:
            values["relation"] = Relation(values["relation"])
        links.append(Link(**values))
    return links


def load_marks(
    db: sa.Connection, scope: Scope, *, method: str | None = None, after: int = 0
) -> list[Mark]:
    """Return marks numbered above ``after``."""
    mark = t.mark.c
    query = _SELECT_MARKS.where(mark.scope == find_scope(db, scope), mark.id > after)
    if method is not None:
        query = query.where(mark.method == method)
    return [Mark(**row) for row in db.execute(query.order_by(mark.id)).mappings()]
