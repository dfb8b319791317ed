"""Derived data by method: counting, deleting and replacing it.

The log, the imported memories and the journal are never touched, so a method can remember again
what is deleted here without paying again for replies that are in the journal.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql.corrections import CARRIED, carry_over
from theanine.store.sql.pending import load_pending
from theanine.store.sql.remembering import replace_default_method
from theanine.store.sql.rows import dumps
from theanine.store.sql.scopes import find_scope, invalidate_scope, load_scope_ids
from theanine.types import Scope

_TABLES = (t.link, t.mark, t.memory, t.remembering)
"""Tables with a column ``method``."""


def count_memories(db: sa.Connection, scope: Scope | None = None) -> dict[str, int]:
    """Return how many memories each method has, 0 for those that only have pending sessions."""
    r, m = t.remembering.c, t.memory.c
    methods = sa.select(r.method).distinct()
    counts = sa.select(m.method, sa.func.count().label("memories")).group_by(m.method)
    if scope is not None:
        number = find_scope(db, scope)
        methods, counts = methods.where(r.scope == number), counts.where(m.scope == number)
    none = dict.fromkeys(db.execute(methods.order_by(r.method)).scalars(), 0)
    return none | {row.method: row.memories for row in db.execute(counts.order_by(m.method))}


def delete_method_data(
    db: sa.Connection,
    methods: Sequence[str],
    scope: Scope | None = None,
    *,
    replacement: str | None = None,
) -> int | None:
    """Delete the methods' data; None, with nothing deleted, while ``replacement`` is pending."""
    if replacement is not None and load_pending(db, replacement, scope):
        return None
    deleted = 0
    for number in load_scope_ids(db, scope):
        if replacement is not None:
            _replace_recalled(db, number, methods, replacement)
        deleted += _delete_data(db, number, methods)
        if replacement is not None:  # its marks are the only ones now
            own = t.mark.c.scope == number, t.mark.c.method == replacement
            db.execute(t.mark.update().where(*own, t.mark.c.reason == CARRIED).values(reason=""))
    if replacement is not None and scope is None:
        replace_default_method(db, methods, replacement)
    return deleted


def promote_stage(
    db: sa.Connection, stage: str, method: str, scope: Scope | None = None
) -> int | None:
    """Replace the method's data by that of ``stage``; None, with no change, while it is pending."""
    if load_pending(db, stage, scope):
        return None
    deleted = 0
    for number in load_scope_ids(db, scope):
        _replace_recalled(db, number, [method], stage)
        deleted += _delete_data(db, number, [method])
        moved = [
            db.execute(
                table.update()
                .where(table.c.scope == number, table.c.method == stage)
                .values(method=method)
            ).rowcount
            for table in _TABLES
        ]
        if any(moved):
            invalidate_scope(db, number)
    return deleted


def _delete_data(db: sa.Connection, scope_id: int, methods: Sequence[str]) -> int:
    """Delete the methods' data in one scope and return how many memories there were."""
    m = t.memory.c
    memories = sa.select(m.id).where(m.scope == scope_id, m.method.in_(methods))
    for table in (t.source, t.origin, t.vector):
        db.execute(table.delete().where(table.c.scope == scope_id, table.c.memory.in_(memories)))
    deleted = {
        table.name: db.execute(
            table.delete().where(table.c.scope == scope_id, table.c.method.in_(methods))
        ).rowcount
        for table in _TABLES
    }
    if any(deleted.values()):
        invalidate_scope(db, scope_id)
    return deleted[t.memory.name]


def _replace_recalled(
    db: sa.Connection, scope_id: int, methods: Sequence[str], replacement: str
) -> None:
    """In ``Turn.recalled``, replace memories of the methods by ones on the same source turns.

    This keeps track of what an assistant's turn was based on: repetitions are recognized as such,
    often recalled memories keep their strength, and quotes of a forgotten session are reported.
    Each memory is replaced by the one that shares most source turns with it (of several, the one
    with the lowest number), because a finer method may have hundreds of memories for one summary.
    A memory that shares none stays. Corrections and pins pass to the new memories, too.
    """
    new_by_turn: defaultdict[int, list[int]] = defaultdict(list)
    for memory, turn in _select_sources(db, scope_id, [replacement]):
        new_by_turn[turn].append(memory)
    shared: defaultdict[int, Counter[int]] = defaultdict(Counter)  # old memory → new memories
    for memory, turn in _select_sources(db, scope_id, methods):
        shared[memory].update(new_by_turn[turn])
    carry_over(db, scope_id, replacement, shared)
    best = {
        old: min(counts, key=lambda new, counts=counts: (-counts[new], new), default=old)
        for old, counts in shared.items()
    }
    c = t.turn.c
    query = sa.select(c.id, c.recalled).where(c.scope == scope_id, c.recalled != "[]")
    updates: list[dict[str, object]] = []
    for turn in db.execute(query):
        old = json.loads(turn.recalled)
        new = list(dict.fromkeys(best.get(memory, memory) for memory in old))
        if new != old:
            updates.append({"turn": turn.id, "new": dumps(new)})
    if updates:
        match = (c.scope == scope_id, c.id == sa.bindparam("turn"))
        db.execute(t.turn.update().where(*match).values(recalled=sa.bindparam("new")), updates)


def _select_sources(
    db: sa.Connection, scope_id: int, methods: Sequence[str]
) -> Sequence[sa.Row[int, int]]:
    """Return pairs of the methods' memories and their source turns."""
    s, m = t.source.c, t.memory.c
    same = sa.and_(m.scope == s.scope, m.id == s.memory)
    query = sa.select(s.memory, s.turn).join(t.memory, same)
    return db.execute(query.where(s.scope == scope_id, m.method.in_(methods))).all()
