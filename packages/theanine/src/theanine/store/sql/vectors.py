"""Vectors and the embedders that they come from: one is in use, others only while re-embedding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from theanine.embeddings.base import Vectors
from theanine.errors import BadInput, EmbedderMismatch
from theanine.store.sql import schema as t
from theanine.store.sql.rows import chunks, find_scope, insert, scope_of
from theanine.types import Scope


def active_embedder(db: sa.Connection) -> sa.Row[Any] | None:
    """The row of the embedder in use, or None before the first vector."""
    return db.execute(sa.select(t.embedder).where(t.embedder.c.active)).one_or_none()


def need_embedder(
    db: sa.Connection, name: str, dimension: int, *, active: sa.Row[Any] | None
) -> int:
    """The number of the embedder in use, created when it is the first. Raises EmbedderMismatch."""
    if active is None:
        return _create(db, name, dimension, active=True)
    if (active.name, active.dimension) != (name, dimension):
        raise EmbedderMismatch(
            f"the store's vectors are by {active.name} ({active.dimension} dimensions), not by "
            f"{name} ({dimension}); run `theanine reembed` to change, or go back to the old one"
        )
    return int(active.id)


def _create(db: sa.Connection, name: str, dimension: int, *, active: bool) -> int:
    known = db.execute(sa.select(t.embedder).where(t.embedder.c.name == name)).one_or_none()
    if known is not None:
        if known.dimension != dimension:
            raise EmbedderMismatch(
                f"{name} gave vectors of {known.dimension} dimensions before and gives "
                f"{dimension} now; give the embedder another name"
            )
        return int(known.id)
    values = {"name": name, "dimension": dimension, "active": active}
    created = db.execute(t.embedder.insert().values(values)).inserted_primary_key
    return int(created[0]) if created else 0


def pack(vectors: Vectors) -> list[bytes]:
    """Each row as float16 bytes."""
    return [row.tobytes() for row in np.asarray(vectors).astype("<f2")]


def unpack(rows: Sequence[bytes], dimension: int) -> Vectors:
    """``(n, d)`` float32 from float16 bytes, brought back to unit norm; zero rows stay zero."""
    flat = np.frombuffer(b"".join(rows), dtype="<f2").reshape(len(rows), dimension)
    vectors = flat.astype(np.float32)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    norms[norms == 0] = 1
    vectors /= norms
    return vectors


def insert_vectors(
    db: sa.Connection,
    embedder: int,
    owners: Sequence[tuple[int, int]],
    vectors: Vectors,
) -> None:
    """Insert one vector for each (scope number, memory number)."""
    rows = [
        {"scope": scope_id, "embedder": embedder, "memory": memory, "data": data}
        for (scope_id, memory), data in zip(owners, pack(vectors), strict=True)
    ]
    insert(db, t.vector, rows)


def vectors(
    db: sa.Connection, scope: Scope, method: str | None, after: int, upto: int
) -> tuple[list[int], Vectors]:
    """Memory numbers above ``after`` and up to ``upto``, and their vectors in use."""
    active, scope_id = active_embedder(db), find_scope(db, scope)
    if active is None or scope_id is None:
        return [], np.zeros((0, active.dimension if active else 0), dtype=np.float32)
    query = (
        sa.select(t.vector.c.memory, t.vector.c.data)
        .where(t.vector.c.scope == scope_id, t.vector.c.embedder == active.id)
        .where(t.vector.c.memory > after, t.vector.c.memory <= upto)
        .order_by(t.vector.c.memory)
    )
    if method is not None:
        owner = sa.and_(t.memory.c.scope == t.vector.c.scope, t.memory.c.id == t.vector.c.memory)
        query = query.join(t.memory, owner).where(t.memory.c.method == method)
    rows = db.execute(query).all()
    return [row.memory for row in rows], unpack([row.data for row in rows], active.dimension)


def _lacking(name: str) -> sa.Select[Any, Any]:
    """Memories without a vector by the embedder of this name."""
    has_one = (
        sa.exists()
        .where(t.vector.c.scope == t.memory.c.scope, t.vector.c.memory == t.memory.c.id)
        .where(t.vector.c.embedder == t.embedder.c.id, t.embedder.c.name == name)
    )
    return sa.select(t.memory.c.scope, t.memory.c.id).where(~has_one)


def reembed_batch(
    db: sa.Connection, name: str, size: int
) -> tuple[list[tuple[Scope, int, str]], int]:
    """Some memories that lack a vector by ``name``, and how many lack one in all."""
    lacking = _lacking(name)
    total = db.execute(sa.select(sa.func.count()).select_from(lacking.subquery())).scalar_one()
    query = (
        lacking.add_columns(t.memory.c.text, t.scope.c.tenant, t.scope.c.agent, t.scope.c.user)
        .join(t.scope, t.scope.c.id == t.memory.c.scope)
        .order_by(t.memory.c.scope, t.memory.c.id)
        .limit(size)
    )
    return [(scope_of(row), row.id, row.text) for row in db.execute(query)], int(total)


def add_vectors(
    db: sa.Connection, name: str, owners: Sequence[tuple[Scope, int]], vectors: Vectors
) -> None:
    """Store vectors beside those in use; memories forgotten meanwhile are passed over."""
    if len(owners) != len(vectors):
        raise BadInput(f"{len(owners)} memories came with {len(vectors)} vectors")
    if not owners:
        return
    number = _create(db, name, np.asarray(vectors).shape[1], active=False)
    numbers = {scope: find_scope(db, scope) or 0 for scope in {scope for scope, _ in owners}}
    places = {(numbers[scope], memory): i for i, (scope, memory) in enumerate(owners)}
    near = _lacking(name).where(t.memory.c.scope.in_(set(numbers.values())))
    wanted = [
        key
        for some in chunks(sorted({memory for _, memory in owners}))
        for row in db.execute(near.where(t.memory.c.id.in_(some)))
        if (key := (int(row.scope), int(row.id))) in places
    ]
    insert_vectors(db, number, wanted, np.asarray(vectors)[[places[key] for key in wanted]])
    active = active_embedder(db)
    if active is not None and active.id == number:  # caches have passed these memories already
        here = t.scope.c.id.in_({scope_id for scope_id, _ in wanted})
        db.execute(t.scope.update().where(here).values(epoch=t.scope.c.epoch + 1))


def use_embedder(db: sa.Connection, name: str, dimension: int) -> bool:
    """Switch over and drop all other vectors; False while any memory lacks the new one."""
    if db.execute(_lacking(name).limit(1)).one_or_none() is not None:
        return False
    number = _create(db, name, dimension, active=False)
    active = active_embedder(db)
    if active is not None and active.id == number:
        return True
    db.execute(t.vector.delete().where(t.vector.c.embedder != number))
    db.execute(t.embedder.delete().where(t.embedder.c.id != number))
    db.execute(t.embedder.update().values(active=True))
    db.execute(t.scope.update().values(epoch=t.scope.c.epoch + 1))
    return True
