"""What waits to be remembered, and the one transaction that commits what a method made of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import sqlalchemy as sa

from theanine.clock import micros, moment
from theanine.conversation import GivenMemory, Scope, Turn
from theanine.errors import BadInput, LeaseLost, NotFound
from theanine.memory import Memory, Remembered
from theanine.store import schema as t
from theanine.store.base import Pending
from theanine.store.embeddings import active_embedder, insert_vectors, need_embedder
from theanine.store.log import next_number
from theanine.store.rows import (
    chunks,
    dumps,
    find_scope,
    given_of,
    insert,
    keepable,
    need_session,
    scope_of,
    turn_of,
)
from theanine.store.validate import check_text


def pending(db: sa.Connection, method: str, scope: Scope | None) -> list[Pending]:
    """Ended sessions whose mark by ``method`` is missing or unset."""
    mark = sa.and_(
        t.remembering.c.scope == t.session.c.scope,
        t.remembering.c.session == t.session.c.id,
        t.remembering.c.method == method,
    )
    query = (
        sa.select(t.scope.c.tenant, t.scope.c.agent, t.scope.c.user)
        .add_columns(t.session.c.id, t.remembering.c.attempts, t.remembering.c.failure)
        .join_from(t.scope, t.session, t.session.c.scope == t.scope.c.id)
        .outerjoin(t.remembering, mark)
        .where(t.session.c.ended_at.is_not(None), t.remembering.c.remembered_at.is_(None))
        .order_by(t.scope.c.id, t.session.c.started_at, t.session.c.id)
    )
    if scope is not None:
        query = query.where(t.scope.c.id == (find_scope(db, scope) or 0))
    return [
        Pending(
            scope=scope_of(row),
            session=row.id,
            method=method,
            attempts=row.attempts or 0,
            failure=row.failure,
        )
        for row in db.execute(query)
    ]


def unremembered(
    db: sa.Connection, scope: Scope, session: int, method: str
) -> tuple[list[Turn], list[GivenMemory]]:
    """Turns and ready-made memories behind the method's mark."""
    scope_id = find_scope(db, scope)
    need_session(db, scope_id, session)
    assert scope_id is not None
    mark = _mark(db, scope_id, session, method)
    turns = db.execute(_turns_behind(scope_id, session, mark.upto if mark else 0))
    given = db.execute(_given_behind(scope_id, session, mark.given if mark else 0))
    return [turn_of(row) for row in turns], [given_of(row) for row in given]


def _turns_behind(scope_id: int, session: int, upto: int) -> sa.Select[Any]:
    here = (t.turn.c.scope == scope_id, t.turn.c.session == session)
    return sa.select(t.turn).where(*here, t.turn.c.id > upto).order_by(t.turn.c.id)


def _given_behind(scope_id: int, session: int, upto: int) -> sa.Select[Any]:
    here = (t.given.c.scope == scope_id, t.given.c.session == session)
    return sa.select(t.given).where(*here, t.given.c.position > upto).order_by(t.given.c.position)


def _mark(db: sa.Connection, scope_id: int, session: int, method: str) -> sa.Row[Any] | None:
    query = sa.select(t.remembering).where(
        t.remembering.c.scope == scope_id,
        t.remembering.c.session == session,
        t.remembering.c.method == method,
    )
    return db.execute(query).one_or_none()


def commit(
    db: sa.Connection,
    scope: Scope,
    session: int,
    method: str,
    remembered: Remembered,
    embedder: str,
    holder: str,
    at: datetime,
    seen: tuple[int, int] | None,
) -> list[Memory]:
    """Number and insert everything, and move the method's mark; twice is the same as once."""
    row = db.execute(
        sa.select(t.scope.c.id, t.scope.c.lease_holder)
        .where(t.scope.c.id == (find_scope(db, scope) or 0))
        .with_for_update()
    ).one_or_none()
    if row is None:
        raise NotFound(f"there is no session {session} any more: its user was forgotten")
    ended = need_session(db, row.id, session)
    if ended.ended_at is None:
        raise NotFound(f"session {session} has not ended yet; end it before remembering it")
    if row.lease_holder != holder:
        raise LeaseLost(
            f"session {session} was not committed: another process took over remembering; "
            "nothing is lost, it goes on there"
        )
    if not _move_mark(db, row.id, session, method, at, seen):
        return []
    _check(db, row.id, remembered)
    memories = _insert_memories(db, row.id, session, method, remembered, moment(ended.ended_at))
    _insert_vectors(db, row.id, memories, remembered, embedder)
    _insert_links(db, row.id, method, memories, remembered)
    return memories


def _move_mark(
    db: sa.Connection,
    scope_id: int,
    session: int,
    method: str,
    at: datetime,
    seen: tuple[int, int] | None,
) -> bool:
    """Advance the mark over what was seen. False when it already stands there.

    Turns that were logged while the method worked stay behind it and keep the session pending.
    """
    old = _mark(db, scope_id, session, method)
    start = (old.upto, old.given) if old else (0, 0)
    turns = [row.id for row in db.execute(_turns_behind(scope_id, session, start[0]))]
    given = [row.position for row in db.execute(_given_behind(scope_id, session, start[1]))]
    end = (max(turns, default=start[0]), max(given, default=start[1]))
    if old is not None and old.remembered_at is not None:
        return False
    mark = end
    if seen is not None:
        mark = (max(seen[0], start[0]), _nth(given, seen[1], start[1]))
        if mark == start and mark != end:
            return False
    done = mark[0] >= end[0] and mark[1] >= end[1]
    values: dict[str, Any] = {
        "upto": mark[0],
        "given": mark[1],
        "failure": None,
        "remembered_at": micros(at) if done else None,
    }
    _set_mark(db, scope_id, session, method, values, known=old is not None)
    return True


def _nth(positions: list[int], count: int, otherwise: int) -> int:
    """The position of the ``count``-th ready-made memory behind the mark."""
    return positions[min(count, len(positions)) - 1] if positions and count > 0 else otherwise


def _set_mark(
    db: sa.Connection,
    scope_id: int,
    session: int,
    method: str,
    values: dict[str, Any],
    *,
    known: bool,
) -> None:
    key = {"scope": scope_id, "session": session, "method": method}
    if not known:
        insert(db, t.remembering, [{**key, **values}])
        return
    here = [t.remembering.c[name] == value for name, value in key.items()]
    db.execute(t.remembering.update().where(*here).values(values))


def _check(db: sa.Connection, scope_id: int, remembered: Remembered) -> None:
    """Raises BadInput for memories and links that don't fit together or into the scope."""
    rows = 0 if remembered.vectors is None else len(np.asarray(remembered.vectors))
    if rows != len(remembered.memories):
        raise BadInput(f"{len(remembered.memories)} memories came with {rows} vectors")
    pairs = {(link.older, link.newer) for link in remembered.links}
    if len(pairs) != len(remembered.links):
        raise BadInput("two links join the same pair of memories")
    for position, memory in enumerate(remembered.memories, 1):
        check_text(memory.text, "the text", f"memory {position}")
    for link in remembered.links:
        check_text(link.explanation, "the explanation", f"link from memory {link.older}")
        if not 0 <= link.newer < len(remembered.memories):
            raise BadInput(f"a link ends at new memory {link.newer}, which there isn't")
    older = sorted({link.older for link in remembered.links})
    known: set[int] = set()
    for some in chunks(older):
        query = sa.select(t.memory.c.id).where(
            t.memory.c.scope == scope_id, t.memory.c.id.in_(some)
        )
        known.update(db.execute(query).scalars())
    if missing := [number for number in older if number not in known]:
        raise BadInput(f"a link begins at memory {missing[0]}, which isn't in this scope")


def _insert_memories(
    db: sa.Connection,
    scope_id: int,
    session: int,
    method: str,
    remembered: Remembered,
    made_at: datetime,
) -> list[Memory]:
    if not remembered.memories:
        return []
    first = next_number(db, scope_id, "next_memory", len(remembered.memories))
    memories = [
        Memory(
            id=first + i,
            session=session,
            text=new.text,
            at=moment(micros(new.at)),
            made_at=made_at,
            kind=new.kind,
            speakers=tuple(new.speakers),
            sources=tuple(sorted(set(new.sources))),
            method=method,
            made_by=new.made_by,
            prompt=new.prompt,
        )
        for i, new in enumerate(remembered.memories)
    ]
    insert(db, t.memory, [memory_row(scope_id, memory) for memory in memories])
    sources = [
        {"scope": scope_id, "memory": memory.id, "turn": turn}
        for memory in memories
        for turn in memory.sources
    ]
    insert(db, t.source, sources)
    return memories


def memory_row(scope_id: int, memory: Memory) -> dict[str, Any]:
    """The row of a memory; its sources have a table of their own."""
    return {
        "scope": scope_id,
        "id": memory.id,
        "session": memory.session,
        "method": memory.method,
        "kind": memory.kind,
        "text": memory.text,
        "at": micros(memory.at),
        "made_at": micros(memory.made_at),
        "speakers": dumps(memory.speakers),
        "made_by": memory.made_by,
        "prompt": memory.prompt,
    }


def _insert_vectors(
    db: sa.Connection,
    scope_id: int,
    memories: list[Memory],
    remembered: Remembered,
    embedder: str,
) -> None:
    if not memories:
        return
    vectors = np.asarray(remembered.vectors, dtype=np.float32)
    number = need_embedder(db, embedder, vectors.shape[1], active=active_embedder(db))
    insert_vectors(db, number, [(scope_id, memory.id) for memory in memories], vectors)


def _insert_links(
    db: sa.Connection,
    scope_id: int,
    method: str,
    memories: list[Memory],
    remembered: Remembered,
) -> None:
    rows = [
        {
            "scope": scope_id,
            "newer": memories[link.newer].id,
            "older": link.older,
            "method": method,
            "relation": None if link.relation is None else link.relation.value,
            "explanation": link.explanation,
            "similarity": float(link.similarity),
            "made_by": link.made_by,
            "prompt": link.prompt,
        }
        for link in remembered.links
    ]
    insert(db, t.link, rows)


def record_failure(db: sa.Connection, scope: Scope, session: int, method: str, reason: str) -> None:
    """Count the attempt and keep the reason; nothing to note once the session is gone or done."""
    scope_id = find_scope(db, scope)
    if scope_id is None:
        return
    here = (t.session.c.scope == scope_id, t.session.c.id == session)
    if db.execute(sa.select(t.session.c.id).where(*here)).one_or_none() is None:
        return
    old = _mark(db, scope_id, session, method)
    if old is not None and old.remembered_at is not None:
        return
    values = {"failure": keepable(reason), "attempts": (old.attempts if old else 0) + 1}
    _set_mark(db, scope_id, session, method, values, known=old is not None)
