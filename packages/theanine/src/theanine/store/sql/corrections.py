"""Marks that a caller makes on memories: corrections, pins and acceptances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from theanine.clock import micros
from theanine.ends import VERIFY_BY
from theanine.errors import BadInput, NotFound
from theanine.store.sql import schema as t
from theanine.store.sql.commit import insert_memories
from theanine.store.sql.memories import load_memories
from theanine.store.sql.remembering import load_progress, save_progress
from theanine.store.sql.rows import chunks, insert_rows
from theanine.store.sql.scopes import find_scope, invalidate_scope, load_scope_ids, take_numbers
from theanine.store.sql.turns import insert_session, insert_turns
from theanine.store.sql.vectors import insert_vectors, load_active_embedder, require_embedder
from theanine.store.validate import check_time, storable_utterances
from theanine.types import (
    CALLER,
    CORRECTS,
    PIN_KINDS,
    STATE,
    STATEMENT,
    MarkKind,
    Memory,
    Metadata,
    Relation,
    Scope,
    Utterance,
)

CARRIED = "carried over from another method"
"""Reason of a mark that was copied from another method's memory."""


def correct_memory(
    db: sa.Connection,
    scope: Scope,
    memory: int,
    text: str,
    vector: Any,
    *,
    speaker: str = "",
    embedder: str,
    at: datetime,
    ends: Metadata = MappingProxyType({}),
) -> Memory:
    """Log the correction as a turn in a session of its own, with the memory that it makes.

    It is verified until its own ``ends`` say otherwise, but ends when what it corrects does.
    """
    import numpy as np  # most commands correct nothing, and it takes long to load

    check_time(at, "the time of the correction")
    notes = {CORRECTS: str(memory)}
    said = Utterance(text=text, speaker=speaker or scope.user, at=at, notes=notes)
    [utterance] = storable_utterances([said])
    scope_id, old = _load_memory(db, scope, memory)
    marks = _load_marks(db, scope_id, memory)
    if (corrected := marks.get("corrected")) is not None:
        successor = f"correct memory {corrected.by} instead" if corrected.by else "see its history"
        raise BadInput(f"memory {memory} was corrected before; {successor}")
    vectors = np.asarray(vector, np.float32)[None]
    active = load_active_embedder(db)
    number_of_embedder = require_embedder(db, embedder, vectors.shape[1], active=active)
    kept = {name: value for name, value in old.metadata.items() if name != VERIFY_BY}
    metadata = {**kept, **ends}
    session = insert_session(db, scope_id, None, at, ended_at=at, metadata=metadata)
    [turn] = insert_turns(db, scope_id, session, [utterance], metadata)
    progress = {"upto": turn.id, "remembered_at": micros(at)}
    save_progress(db, scope_id, session, old.method, progress)
    new = Memory(
        id=take_numbers(db, scope_id, "next_memory", 1),
        session=session,
        text=turn.text,
        at=turn.at,
        session_ended_at=at,
        kind=STATEMENT if old.kind == STATE else old.kind,
        speakers=old.speakers,
        source_turns=(turn.id,),
        method=old.method,
        made_by=CALLER,
        metadata=metadata,
    )
    insert_memories(db, scope_id, [new])
    insert_vectors(db, number_of_embedder, [(scope_id, new.id)], vectors)
    _link_change(db, scope_id, memory, new.id, old.method)
    insert_mark(db, scope_id, memory, "corrected", session, old.method, by=new.id)
    if "pinned" in marks:
        insert_mark(db, scope_id, new.id, "pinned", session, old.method)
    [stored] = load_memories(db, scope, ids=[new.id])
    return stored


def set_pin(db: sa.Connection, scope: Scope, memory: int, pinned: bool) -> bool:
    """Pin or unpin a memory; False if nothing changes."""
    scope_id, stored = _load_memory(db, scope, memory)
    marks = _load_marks(db, scope_id, memory)
    if pinned and "corrected" in marks:
        raise BadInput(f"memory {memory} was corrected; pin memory {marks['corrected'].by} instead")
    if ("pinned" in marks) == pinned:
        return False
    kind: MarkKind = "pinned" if pinned else "unpinned"
    insert_mark(db, scope_id, memory, kind, stored.session, stored.method)
    return True


def accept_memory(db: sa.Connection, scope: Scope, memory: int) -> bool:
    """Mark a memory as accepted; False if it was already. Raises NotFound."""
    scope_id, stored = _load_memory(db, scope, memory)
    if "accepted" in _load_marks(db, scope_id, memory):
        return False
    insert_mark(db, scope_id, memory, "accepted", stored.session, stored.method)
    return True


def load_accepted(db: sa.Connection, scope: Scope) -> set[int]:
    """Return the ids of the memories that are marked as accepted."""
    m = t.mark.c
    query = sa.select(m.memory).where(m.scope == find_scope(db, scope), m.kind == "accepted")
    return set(db.execute(query).scalars())


def carry_marks(db: sa.Connection, method: str, scope: Scope | None = None) -> None:
    """Copy the caller's marks to the method's memories of the same turns."""
    m = t.mark.c
    for scope_id in load_scope_ids(db, scope):
        own = (m.scope == scope_id, m.made_by == CALLER, m.method != method, m.reason == "")
        said = db.execute(sa.select(m.memory, m.by).where(*own)).all()
        numbers = {number for row in said for number in row if number is not None}
        shared = _count_shared(db, scope_id, numbers, method)
        if carry_over(db, scope_id, method, shared, reason=CARRIED):
            invalidate_scope(db, scope_id)


def carry_over(
    db: sa.Connection,
    scope_id: int,
    method: str,
    shared: Mapping[int, Counter[int]],
    *,
    reason: str | None = None,
) -> bool:
    """Copy corrections and pins of memories to those of ``method``; False if it has them all.

    What was carried over to the memories itself is left out where there is a ``reason``, so that
    nothing spreads from method to method. A correction waits until its session is remembered, and
    needs a memory that was made from nothing else than the corrected one, and from half of that. Of
    a memory's pins, the latest counts.

    Args:
        shared: for each memory to read, counts of the source turns that those of ``method`` have in
            common with it.
        reason: the reason of the new marks; None for that of the old ones.
    """
    marked = sa.select(t.mark.c.memory, t.mark.c.by).where(
        t.mark.c.scope == scope_id, t.mark.c.made_by == CALLER
    )
    concerned = {number for row in db.execute(marked) for number in row} & shared.keys()
    sources = _count_sources(db, scope_id, concerned.union(*(shared[old] for old in concerned)))
    counterparts = {
        old: _find_counterpart(db, scope_id, old, shared[old], sources)
        for old in sorted(concerned)
        if shared[old]
    }
    pins: dict[int, sa.Row[Any]] = {}
    changed = False
    for old, counterpart in counterparts.items():
        marks = {
            kind: row
            for kind, row in _load_marks(db, scope_id, old).items()
            if not (reason and row.reason)
        }
        count = shared[old][counterpart]
        row, successor = marks.get("corrected"), None
        if row is not None and sources[counterpart] == count and 2 * count >= sources[old]:
            successor = counterparts.get(row.by)
            progress = load_progress(db, scope_id, row.session, method)
            known = "corrected" in _load_marks(db, scope_id, counterpart)
            if progress and progress.remembered_at and not known and successor != counterpart:
                why = row.reason if reason is None else reason
                insert_mark(
                    db,
                    scope_id,
                    counterpart,
                    "corrected",
                    row.session,
                    method,
                    by=successor,
                    reason=why,
                )
                if successor is not None:
                    _link_change(db, scope_id, counterpart, successor, method)
                changed = True
        pin = marks.get("pinned") or marks.get("unpinned")
        if pin is not None and (counterpart not in pins or pins[counterpart].id < pin.id):
            pins[counterpart] = pin
    for counterpart, pin in pins.items():
        there = _load_marks(db, scope_id, counterpart)
        own = there.get("pinned") or there.get("unpinned")
        newer = own is None or own.id < pin.id
        if newer and ("pinned" in there) != (pin.kind == "pinned"):
            why = pin.reason if reason is None else reason
            insert_mark(db, scope_id, counterpart, pin.kind, pin.session, method, reason=why)
            changed = True
    return changed


def _count_shared(
    db: sa.Connection, scope_id: int, memories: Collection[int], method: str
) -> dict[int, Counter[int]]:
    """Count the source turns that memories have in common with those of a method."""
    old, new, m = t.source.alias(), t.source.alias(), t.memory.c
    query = (
        sa.select(old.c.memory, new.c.memory.label("new"))
        .join(new, sa.and_(new.c.scope == old.c.scope, new.c.turn == old.c.turn))
        .join(t.memory, sa.and_(m.scope == new.c.scope, m.id == new.c.memory))
        .where(old.c.scope == scope_id, m.method == method)
    )
    shared = {memory: Counter[int]() for memory in memories}
    for some in chunks(sorted(memories)):
        for memory, other in db.execute(query.where(old.c.memory.in_(some))):
            shared[memory][other] += 1
    return shared


def _count_sources(db: sa.Connection, scope_id: int, memories: Collection[int]) -> dict[int, int]:
    """Count the source turns of memories that have any."""
    s = t.source.c
    query = sa.select(s.memory, sa.func.count()).where(s.scope == scope_id).group_by(s.memory)
    return {
        memory: count
        for some in chunks(sorted(memories))
        for memory, count in db.execute(query.where(s.memory.in_(some)))
    }


def _find_counterpart(
    db: sa.Connection,
    scope_id: int,
    old: int,
    shared: Mapping[int, int],
    sources: Mapping[int, int],
) -> int:
    """Return the new memory that best corresponds to an old one, by their source turns.

    It has the fewest other source turns, then most of the old one's, then the nearest vector.
    """
    ranks = {new: (sources[new] - count, -count) for new, count in shared.items()}
    best = min(ranks.values())
    counterparts = sorted(new for new, rank in ranks.items() if rank == best)
    active = load_active_embedder(db)
    if len(counterparts) == 1 or active is None:
        return counterparts[0]
    import numpy as np

    v = t.vector.c
    query = sa.select(v.memory, v.data).where(v.scope == scope_id, v.embedder == active.id)
    vectors = {
        row.memory: np.frombuffer(row.data, "<f2").astype(np.float32)
        for some in chunks([old, *counterparts])
        for row in db.execute(query.where(v.memory.in_(some)))
    }
    if vectors.keys() < {old, *counterparts}:
        return counterparts[0]
    return max(counterparts, key=lambda counterpart: float(vectors[counterpart] @ vectors[old]))


def insert_mark(
    db: sa.Connection,
    scope_id: int,
    memory: int,
    kind: MarkKind,
    session: int,
    method: str,
    *,
    by: int | None = None,
    reason: str = "",
) -> None:
    """Insert a mark that the caller made."""
    row = {
        "scope": scope_id,
        "id": take_numbers(db, scope_id, "next_mark", 1),
        "memory": memory,
        "kind": kind,
        "by": by,
        "session": session,
        "method": method,
        "reason": reason,
        "made_by": CALLER,
        "prompt": "",
    }
    insert_rows(db, t.mark, [row])


def _load_memory(db: sa.Connection, scope: Scope, memory: int) -> tuple[int, Memory]:
    stored = load_memories(db, scope, ids=[memory])
    if not stored:
        raise NotFound(f"no memory {memory} for this user; see the list of memories")
    return find_scope(db, scope), stored[0]


def _load_marks(db: sa.Connection, scope_id: int, memory: int) -> dict[str, sa.Row[Any]]:
    """Return the marks of a memory that hold, by kind; that a pin was taken off is one, too."""
    m = t.mark.c
    query = sa.select(t.mark).where(m.scope == scope_id, m.memory == memory).order_by(m.id)
    marks: dict[str, sa.Row[Any]] = {}
    for row in db.execute(query):
        if row.kind in PIN_KINDS:
            marks.pop("pinned", None)
            marks.pop("unpinned", None)
        marks[row.kind] = row
    return marks


def _link_change(db: sa.Connection, scope_id: int, older: int, newer: int, method: str) -> None:
    """Link two memories as a change, unless they are linked already."""
    same = (t.link.c.scope == scope_id, t.link.c.newer == newer, t.link.c.older == older)
    if db.execute(sa.select(t.link.c.older).where(*same)).first() is None:
        row = {
            "scope": scope_id,
            "newer": newer,
            "older": older,
            "method": method,
            "relation": Relation.CHANGED.value,
            "explanation": "corrected by the caller",
            "similarity": 0.0,
            "made_by": CALLER,
            "prompt": "",
        }
        insert_rows(db, t.link, [row])
