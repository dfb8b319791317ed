"""Vectors and their embedders: one is active, others exist only during re-embedding."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from theanine.errors import BadInput, EmbedderMismatch
from theanine.store.sql import schema as t
from theanine.store.sql.rows import chunks, insert_rows, numbered
from theanine.store.sql.scopes import find_scope, load_with_scopes, look_up_scope
from theanine.types import Scope

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


SELECT_ACTIVE_EMBEDDER = sa.select(t.embedder).where(t.embedder.c.active)


def load_active_embedder(db: sa.Connection) -> sa.Row[Any] | None:
    """Return the row of the active embedder; None before the first vector."""
    return db.execute(SELECT_ACTIVE_EMBEDDER).one_or_none()


def require_embedder(
    db: sa.Connection, name: str, dimension: int, *, active: sa.Row[Any] | None
) -> int:
    """Return the number of the active embedder; the first one becomes active.

    Raises EmbedderMismatch.
    """
    if active is None:
        return ensure_embedder(db, name, dimension, active=True)
    if (active.name, active.dimension) != (name, dimension):
        raise EmbedderMismatch(
            f"the store's vectors are from {active.name} ({active.dimension} dimensions), not "
            f"{name} ({dimension}); use that embedder, or run `theanine reembed` to change it"
        )
    return int(active.id)


def ensure_embedder(db: sa.Connection, name: str, dimension: int, *, active: bool) -> int:
    """Return the number of an embedder, which is new or has made vectors of this dimension."""
    row = db.execute(sa.select(t.embedder).where(t.embedder.c.name == name)).one_or_none()
    if row is not None:
        if row.dimension != dimension:
            raise EmbedderMismatch(
                f"{name} made vectors of {row.dimension} dimensions before and makes "
                f"{dimension} now; rename the embedder"
            )
        return int(row.id)
    values = {"name": name, "dimension": dimension, "active": active}
    created = db.execute(t.embedder.insert().values(values)).inserted_primary_key
    return int(created[0]) if created else 0


def insert_vectors(
    db: sa.Connection, embedder: int, owners: Sequence[tuple[int, int]], vectors: Vectors
) -> None:
    """Insert one vector for each (scope number, memory number), as float16."""
    import numpy as np  # here and below: most commands read no vectors, and it takes long to load

    halves = np.asarray(vectors).astype("<f2")
    rows = [
        {"scope": scope_id, "embedder": embedder, "memory": memory, "data": half.tobytes()}
        for (scope_id, memory), half in zip(owners, halves, strict=True)
    ]
    insert_rows(db, t.vector, rows)


def drop_vectors(db: sa.Connection, embedder: int, scope_ids: Sequence[int]) -> None:
    """Delete an inactive embedder's vectors in some scopes, and itself if it has no others."""
    for some in chunks(scope_ids):
        of_scopes = (t.vector.c.embedder == embedder, t.vector.c.scope.in_(some))
        db.execute(t.vector.delete().where(*of_scopes))
    others = sa.select(t.vector.c.memory).where(t.vector.c.embedder == embedder).limit(1)
    if db.execute(others).first() is None:
        db.execute(t.embedder.delete().where(t.embedder.c.id == embedder))


def load_vectors(
    db: sa.Connection,
    scope: Scope,
    *,
    method: str | None = None,
    after: int = 0,
    upto: int | None = None,
) -> tuple[list[int], Vectors]:
    """Return memory numbers above ``after`` and up to ``upto``, and their active vectors."""
    import numpy as np

    from theanine.store.vectors import stored_vectors

    active, scope_id = load_active_embedder(db), find_scope(db, scope)
    if active is None:
        return [], np.zeros((0, 0), dtype=np.float32)
    query = (
        sa.select(t.vector.c.memory, t.vector.c.data)
        .where(t.vector.c.scope == scope_id, t.vector.c.embedder == active.id)
        .where(numbered(t.vector.c.memory, after, upto))
        .order_by(t.vector.c.memory)
    )
    if method is not None:
        owner = sa.and_(t.memory.c.scope == t.vector.c.scope, t.memory.c.id == t.vector.c.memory)
        query = query.join(t.memory, owner).where(t.memory.c.method == method)
    rows = db.execute(query).all()
    halves = np.frombuffer(b"".join(row.data for row in rows), dtype="<f2")
    vectors = stored_vectors(halves.reshape(len(rows), active.dimension))
    return [row.memory for row in rows], vectors


def _select_unembedded(name: str) -> sa.Select[Any, Any]:
    """Select memories without a vector from the embedder of this name."""
    has_vector = (
        sa.exists()
        .where(t.vector.c.scope == t.memory.c.scope, t.vector.c.memory == t.memory.c.id)
        .where(t.vector.c.embedder == t.embedder.c.id, t.embedder.c.name == name)
    )
    return sa.select(t.memory.c.scope, t.memory.c.id).where(~has_vector)


def load_unembedded(
    db: sa.Connection, name: str, limit: int
) -> tuple[list[tuple[Scope, int, str]], int]:
    """Return up to ``limit`` memories without a vector from ``name``, and the total of those."""
    unembedded = _select_unembedded(name)
    total = db.execute(sa.select(sa.func.count()).select_from(unembedded.subquery())).scalar_one()
    query = unembedded.add_columns(t.memory.c.text).limit(limit)
    query = query.order_by(t.memory.c.scope, t.memory.c.id)
    rows = load_with_scopes(db, query, t.memory.c.scope, None)
    return [(scope, row.id, row.text) for scope, row in rows], int(total)


def add_vectors(
    db: sa.Connection, name: str, owners: Sequence[tuple[Scope, int]], vectors: Vectors
) -> None:
    """Insert an embedder's vectors; skip memories that already have one or are gone.

    The store's first embedder becomes active.
    """
    if len(owners) != len(vectors):
        raise BadInput(f"{len(owners)} memories came with {len(vectors)} vectors")
    if not owners:
        return
    import numpy as np

    is_first = load_active_embedder(db) is None
    embedder = ensure_embedder(db, name, np.asarray(vectors).shape[1], active=is_first)
    of_scope: defaultdict[Scope, dict[int, int]] = defaultdict(dict)
    for position, (scope, memory) in enumerate(owners):
        of_scope[scope][memory] = position
    m, v = t.memory.c, t.vector.c
    for scope, positions in of_scope.items():
        number = look_up_scope(db, scope)
        has_one = sa.exists().where(v.scope == number, v.embedder == embedder, v.memory == m.id)
        query = sa.select(m.id).where(m.scope == number, ~has_one)
        lacking = [
            memory
            for some in chunks(sorted(positions))
            for memory in db.execute(query.where(m.id.in_(some))).scalars()
        ]
        keys = [(number, memory) for memory in lacking]
        rows = [positions[memory] for memory in lacking]
        insert_vectors(db, embedder, keys, np.asarray(vectors)[rows])


def switch_embedder(db: sa.Connection, name: str, dimension: int) -> bool:
    """Make an embedder active and delete other vectors; False while memories lack its vectors."""
    if db.execute(_select_unembedded(name).limit(1)).one_or_none() is not None:
        return False
    number = ensure_embedder(db, name, dimension, active=False)
    active = load_active_embedder(db)
    if active is not None and active.id == number:
        return True
    db.execute(t.vector.delete().where(t.vector.c.embedder != number))
    db.execute(t.embedder.delete().where(t.embedder.c.id != number))
    db.execute(t.embedder.update().values(active=True))
    db.execute(t.scope_state.update().values(epoch=t.scope_state.c.epoch + 1))
    return True
