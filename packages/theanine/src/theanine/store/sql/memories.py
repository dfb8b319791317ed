"""Reading memories, links and marks, and the version of a scope's contents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any, cast

import sqlalchemy as sa

from theanine.clock import moment
from theanine.store.sql import schema as t
from theanine.store.sql.rows import SELECT_MEMORIES, chunks, local_time, numbered, read_metadata
from theanine.store.sql.scopes import find_scope, unique_epoch
from theanine.store.sql.vectors import load_active_embedder
from theanine.store.values import ScopeVersion
from theanine.types import Link, Mark, Memory, Relation, Scope

_SELECT_VERSION = sa.select(
    t.scope_state.c.epoch,
    t.scope_state.c.next_memory,
    t.scope_state.c.next_turn,
    t.scope_state.c.next_mark,
    t.scope_state.c.time_zone,
).where(t.scope_state.c.scope == sa.bindparam("scope_id"))


def load_scope_version(db: sa.Connection, scope: Scope) -> ScopeVersion:
    """Return the scope's version."""
    if not (scope_id := find_scope(db, scope)):
        return ScopeVersion()
    row = db.execute(_SELECT_VERSION, {"scope_id": scope_id}).one()
    embedder = load_active_embedder(db)
    return ScopeVersion(
        scope_id=scope_id,
        epoch=unique_epoch(scope_id, row.epoch),
        memories=row.next_memory - 1,
        turns=row.next_turn - 1,
        marks=row.next_mark - 1,
        embedder=embedder.name if embedder else "",
        time_zone=row.time_zone or "",
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
    params = {"scope_id": find_scope(db, scope)}
    if ids is None:
        selects = _select_memories(lambda number: numbered(number, after, upto))
        return _load(db, selects, params, method)
    numbers = sorted({id for id in ids if after < id and (upto is None or id <= upto)})
    return [
        memory
        for some in chunks(numbers)
        for memory in _load(db, _BY_ID, {**params, "numbers": some}, method)
    ]


_Filter = Callable[[sa.Column[int]], sa.ColumnElement[bool]]
"""A condition on a column with memory numbers."""


def select_by_memory(
    column: sa.Column[int], scope: int | sa.BindParameter[int], where: _Filter
) -> sa.Select[int, int]:
    """Select the numbers in a column of ``source`` or ``origin``, in order, for each memory."""
    c = column.table.c
    query = sa.select(c.memory, column).where(c.scope == scope, where(c.memory))
    return query.order_by(c.memory, column)


_Selects = tuple[sa.Select[Any], sa.Select[int, int], sa.Select[int, int]]


def _select_memories(where: _Filter) -> _Selects:
    """Select memories of a scope, and the pairs of them with source turns and with origins."""
    m, scope = t.memory.c, sa.bindparam("scope_id", type_=sa.Integer)
    return (
        SELECT_MEMORIES.where(m.scope == scope, where(m.id)).order_by(m.id),
        select_by_memory(t.source.c.turn, scope, where),
        select_by_memory(t.origin.c.origin, scope, where),
    )


# Built once: recall reads memories by number, and building the selects takes longer than that.
_BY_ID = _select_memories(lambda number: number.in_(sa.bindparam("numbers", expanding=True)))


def _load(
    db: sa.Connection,
    selects: _Selects,
    params: Mapping[str, Any],
    method: str | None,
) -> list[Memory]:
    memories, of_sources, of_origins = selects
    if method is not None:
        memories = memories.where(t.memory.c.method == method)
    sources = group_by_memory(db.execute(of_sources, params))
    origins = group_by_memory(db.execute(of_origins, params))
    return [
        Memory(
            id=row.id,
            session=row.session,
            text=row.text,
            at=local_time(row.at, row.zone, row.time_zone),
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
        for row in db.execute(memories, params)
    ]


def group_by_memory(rows: Iterable[sa.Row[int, int]]) -> dict[int, tuple[int, ...]]:
    """Return the numbers of :func:`select_by_memory`, ascending, for each memory."""
    return {
        memory: tuple(number for _, number in pairs)
        for memory, pairs in groupby(rows, key=lambda row: row.memory)
    }


_SELECT_LINKS = sa.select(*(t.link.c[field.name] for field in fields(Link)))
_RELATIONS = {relation.value: relation for relation in Relation}  # a tenth of the time of the enum
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
    rows = cast("Iterable[tuple[Any, ...]]", db.execute(query))
    return [
        Link(
            older=older,
            newer=newer,
            relation=None if relation is None else _RELATIONS[relation],
            explanation=explanation,
            similarity=similarity,
            made_by=made_by,
            prompt=prompt,
        )
        for older, newer, relation, explanation, similarity, made_by, prompt in rows
    ]


def load_marks(
    db: sa.Connection, scope: Scope, *, method: str | None = None, after: int = 0
) -> list[Mark]:
    """Return marks numbered above ``after``."""
    mark = t.mark.c
    query = _SELECT_MARKS.where(mark.scope == find_scope(db, scope), mark.id > after)
    if method is not None:
        query = query.where(mark.method == method)
    return [Mark(**row) for row in db.execute(query.order_by(mark.id)).mappings()]
