"""Reading memories, links and marks, and the version of a scope's contents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, cast

import sqlalchemy as sa

from theanine.clock import moment
from theanine.store.sql import schema as t
from theanine.store.sql.fixed import SCOPE, FixedSelect, Read, Reads, in_numbers, read_rows
from theanine.store.sql.rows import SELECT_MEMORIES, local_time, numbered, read_metadata
from theanine.store.sql.scopes import find_scope, unique_epoch
from theanine.store.sql.vectors import SELECT_ACTIVE_EMBEDDER
from theanine.store.values import NOTHING_HIDDEN, Hidden, ScopeVersion
from theanine.types import Link, Mark, Memory, Relation, Scope

SELECT_VERSION: Reads = (
    Read(
        FixedSelect(
            sa.select(
                t.scope_state.c.scope,
                t.scope_state.c.epoch,
                t.scope_state.c.next_memory,
                t.scope_state.c.next_turn,
                t.scope_state.c.next_mark,
                t.scope_state.c.time_zone,
                t.scope_state.c.hidden,
                t.scope_state.c.expires_at,
            ).where(t.scope_state.c.scope == SCOPE)
        )
    ),
    Read(FixedSelect(SELECT_ACTIVE_EMBEDDER)),
)


def load_scope_version(db: sa.Connection, scope: Scope) -> ScopeVersion:
    """Return the scope's version."""
    return version_from_rows(*read_rows(db, scope, SELECT_VERSION))


def version_from_rows(states: Sequence[Any], embedders: Sequence[Any]) -> ScopeVersion:
    """Return a scope's version from the rows of ``SELECT_VERSION``."""
    if not states:
        return ScopeVersion()
    [state] = states
    return ScopeVersion(
        scope_id=state.scope,
        epoch=unique_epoch(state.scope, state.epoch),
        memories=state.next_memory - 1,
        turns=state.next_turn - 1,
        marks=state.next_mark - 1,
        embedder=embedders[0].name if embedders else "",
        time_zone=state.time_zone or "",
        hidden=read_hidden(state.hidden),
        expires_at=None if state.expires_at is None else moment(state.expires_at),
    )


def read_hidden(text: str) -> Hidden:
    """Return the hidden ids from ``scope_state.hidden``, which lists them by operation."""
    if not text:
        return NOTHING_HIDDEN
    parts = json.loads(text).values()
    return Hidden(
        everything=any(part["everything"] for part in parts),
        sessions=frozenset(number for part in parts for number in part["sessions"]),
        turns=frozenset(number for part in parts for number in part["turns"]),
        memories=frozenset(number for part in parts for number in part["memories"]),
    )


def load_memories(
    db: sa.Connection,
    scope: Scope,
    *,
    method: str | None = None,
    after: int = 0,
    upto: int | None = None,
    ids: Sequence[int] | None = None,
    with_provenance: bool = True,
) -> list[Memory]:
    """Return memories numbered above ``after``, up to ``upto``, and of ``ids`` if given.

    Without provenance they are read sooner: they name no source turns and no memories that they are
    derived from.
    """
    if ids is not None:
        numbers = [number for number in ids if after < number and (upto is None or number <= upto)]
        rows = read_rows(db, scope, select_memories_by_id(numbers))
        return [m for m in memories_from_rows(*rows) if method in (None, m.method)]
    params = {"scope_id": find_scope(db, scope)}
    memories, sources, origins = _select_memories(lambda number: numbered(number, after, upto))
    if method is not None:
        memories = memories.where(t.memory.c.method == method)
    provenance = (sources, origins) if with_provenance else ()
    return memories_from_rows(
        db.execute(memories, params),
        *(cast("Iterable[Any]", db.execute(select, params)) for select in provenance),
    )


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
    m = t.memory.c
    return (
        SELECT_MEMORIES.where(m.scope == SCOPE, where(m.id)).order_by(m.id),
        select_by_memory(t.source.c.turn, SCOPE, where),
        select_by_memory(t.origin.c.origin, SCOPE, where),
    )


_BY_ID = tuple(FixedSelect(select) for select in _select_memories(in_numbers))


def select_memories_by_id(numbers: Sequence[int]) -> Reads:
    """Return the selects whose rows :func:`memories_from_rows` takes."""
    return [Read(select, numbers) for select in _BY_ID]


def memories_from_rows(
    memories: Iterable[Any], sources: Iterable[Any] = (), origins: Iterable[Any] = ()
) -> list[Memory]:
    """Return memories in order of id, from their rows and those of their provenance."""
    sources_of, origins_of = group_by_memory(sources), group_by_memory(origins)
    return [
        Memory(
            id=row.id,
            session=row.session,
            text=row.text,
            at=local_time(row.at, row.zone, row.time_zone),
            session_ended_at=moment(row.made_at),
            kind=row.kind,
            speakers=_read_texts(row.speakers),
            source_turns=sources_of.get(row.id, ()),
            derived_from=origins_of.get(row.id, ()),
            method=row.method,
            made_by=row.made_by,
            prompt=row.prompt,
            dated=bool(row.dated),
            metadata=read_metadata(row.metadata),
            cues=_read_texts(row.cues),
        )
        for row in memories
    ]


@lru_cache(maxsize=1_000)
def _read_texts(text: str) -> tuple[str, ...]:
    """Return the texts in a column; most memories of a user have the same speakers, and no cues."""
    return tuple(json.loads(text))


def group_by_memory(rows: Iterable[Any]) -> dict[int, tuple[int, ...]]:
    """Return the numbers of :func:`select_by_memory`, ascending, for each memory."""
    return {
        memory: tuple([number for _, number in pairs])
        for memory, pairs in groupby(rows, key=itemgetter(0))
    }


_SELECT_LINKS = sa.select(*(t.link.c[field.name] for field in fields(Link)), t.link.c.method)
_LINKS_BY_NEWER = FixedSelect(
    _SELECT_LINKS.where(t.link.c.scope == SCOPE, in_numbers(t.link.c.newer)).order_by(
        t.link.c.newer, t.link.c.older
    )
)
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
    return links_from_rows(cast("Iterable[tuple[Any, ...]]", db.execute(query)))


def select_links_by_newer(numbers: Sequence[int]) -> Reads:
    """Return the select whose rows :func:`links_from_rows` takes."""
    return [Read(_LINKS_BY_NEWER, numbers)]


def links_from_rows(rows: Iterable[tuple[Any, ...]], method: str | None = None) -> list[Link]:
    """Return the links of a method, or of any, from their rows."""
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
        for older, newer, relation, explanation, similarity, made_by, prompt, of_method in rows
        if method in (None, of_method)
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
