"""What methods made of the log, by method: counting it, dropping it, and putting it in place.

None of this erases anything that was said. The log, the ready-made memories and the journal stay,
so whatever is dropped can be remembered anew, without paying again for what was asked before.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql.default_method import take_over
from theanine.store.sql.remembering import pending
from theanine.store.sql.rows import dumps, find_scope
from theanine.types import Scope

_OF_A_METHOD = (t.link, t.mark, t.memory, t.remembering)


def methods(db: sa.Connection, scope: Scope | None) -> dict[str, int]:
    """Methods that have remembered or were to remember, with how many memories each holds."""
    r, m = t.remembering.c, t.memory.c
    names = sa.select(r.method).distinct()
    counts = sa.select(m.method, sa.func.count().label("memories")).group_by(m.method)
    if scope is not None:
        number = find_scope(db, scope) or 0
        names, counts = names.where(r.scope == number), counts.where(m.scope == number)
    found = dict.fromkeys(db.execute(names.order_by(r.method)).scalars(), 0)
    return found | {row.method: row.memories for row in db.execute(counts.order_by(m.method))}


def drop(
    db: sa.Connection, names: Sequence[str], scope: Scope | None, once: str | None
) -> int | None:
    """Delete all that the methods made; nothing, and None, while sessions wait for ``once``."""
    if once is not None and pending(db, once, scope):
        return None
    dropped = 0
    for number in _numbers(db, scope):
        if once is not None:
            _hand_over(db, names, once, number)
        dropped += _drop(db, names, number)
    if once is not None and scope is None:
        take_over(db, names, once)
    return dropped


def promote(db: sa.Connection, stage: str, method: str, scope: Scope | None) -> int | None:
    """Let what was made under ``stage`` be the method's, instead of what it had made."""
    if pending(db, stage, scope):
        return None
    dropped = 0
    for number in _numbers(db, scope):
        _hand_over(db, [method], stage, number)
        dropped += _drop(db, [method], number)
        moved = [
            db.execute(
                table.update()
                .where(table.c.scope == number, table.c.method == stage)
                .values(method=method)
            ).rowcount
            for table in _OF_A_METHOD
        ]
        if any(moved):
            _begin_anew(db, number)
    return dropped


def _numbers(db: sa.Connection, scope: Scope | None) -> list[int]:
    if scope is None:
        return list(db.execute(sa.select(t.scope.c.id).order_by(t.scope.c.id)).scalars())
    number = find_scope(db, scope)
    return [] if number is None else [number]


def _hand_over(db: sa.Connection, names: Sequence[str], heir: str, scope_id: int) -> None:
    """Where a memory that goes was in front of the agent, now stands one on the same turns.

    So it is still known what the agent was reminded of when it spoke: what it only repeats is no
    news, what is recalled often keeps its strength, and a forgotten session's quotes are found.
    """
    on: defaultdict[int, list[int]] = defaultdict(list)  # turn → memories of the heir
    of: defaultdict[int, list[int]] = defaultdict(list)  # memory that goes → turns
    for row in _resting(db, [heir], scope_id):
        on[row.turn].append(row.memory)
    for row in _resting(db, names, scope_id):
        of[row.memory].append(row.turn)
    c = t.turn.c
    said = sa.select(c.id, c.recalled).where(c.scope == scope_id, c.recalled != "[]")
    turns = [(turn.id, json.loads(turn.recalled)) for turn in db.execute(said)]
    heirs = {one: _heir(one, of, on) for one in {one for _, old in turns for one in old}}
    handed_on = [
        {"turn": turn, "new": dumps(new)}
        for turn, old in turns
        if (new := list(dict.fromkeys(heirs[one] for one in old))) != old
    ]
    if handed_on:
        here = (c.scope == scope_id, c.id == sa.bindparam("turn"))
        db.execute(t.turn.update().where(*here).values(recalled=sa.bindparam("new")), handed_on)


def _heir(memory: int, of: dict[int, list[int]], on: dict[int, list[int]]) -> int:
    """The heir's memory that shares most of its turns, of equals the first; itself if none does.

    One only: where a method cuts finer, a summary's place taken by all its pieces would make lists
    of hundreds, and of each piece something that comes up again and again.
    """
    shared = Counter(heir for turn in of.get(memory, ()) for heir in on.get(turn, ()))
    return min(shared, key=lambda one: (-shared[one], one), default=memory)


def _resting(db: sa.Connection, names: Sequence[str], scope_id: int) -> Sequence[sa.Row[Any, Any]]:
    """Memories of the methods with each of their turns."""
    s, m = t.source.c, t.memory.c
    query = sa.select(s.memory, s.turn).join(
        t.memory, sa.and_(m.scope == s.scope, m.id == s.memory)
    )
    return db.execute(query.where(s.scope == scope_id, m.method.in_(names))).all()


def _drop(db: sa.Connection, names: Sequence[str], scope_id: int) -> int:
    """All that the methods made in one scope; gives how many memories that was."""
    m = t.memory.c
    made = sa.select(m.id).where(m.scope == scope_id, m.method.in_(names))
    for table in (t.source, t.origin, t.vector):
        db.execute(table.delete().where(table.c.scope == scope_id, table.c.memory.in_(made)))
    gone = {
        table.name: db.execute(
            table.delete().where(table.c.scope == scope_id, table.c.method.in_(names))
        ).rowcount
        for table in _OF_A_METHOD
    }
    if any(gone.values()):
        _begin_anew(db, scope_id)
    return gone[t.memory.name]


def _begin_anew(db: sa.Connection, scope_id: int) -> None:
    """Every cache is stale, and whoever remembers here must begin again."""
    db.execute(
        t.scope.update()
        .where(t.scope.c.id == scope_id)
        .values(epoch=t.scope.c.epoch + 1, lease_holder=None, lease_until=None)
    )
