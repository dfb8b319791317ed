"""What a caller says of a memory: corrections and pins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np
import sqlalchemy as sa

from theanine.clock import micros
from theanine.errors import BadInput, NotFound
from theanine.store.sql import schema as t
from theanine.store.sql.commit import insert_memories
from theanine.store.sql.memories import load_memories
from theanine.store.sql.remembering import save_progress
from theanine.store.sql.rows import find_scope, insert_rows, take_numbers
from theanine.store.sql.turns import insert_session, insert_turns
from theanine.store.sql.vectors import insert_vectors, load_active_embedder, require_embedder
from theanine.store.validate import check_time, check_utterance
from theanine.types import (
    CALLER,
    PIN_KINDS,
    MarkKind,
    Memory,
    Relation,
    Scope,
    Utterance,
)


def correct_memory(
    db: sa.Connection,
    scope: Scope,
    memory: int,
    text: str,
    vector: Any,
    *,
    embedder: str,
    at: datetime,
) -> Memory:
    """Log the correction as a turn in a session of its own, with the memory that it makes."""
    check_time(at, "the time of the correction")
    utterance = Utterance(text=text, speaker=scope.user, at=at)
    check_utterance(utterance)
    scope_id, old = _load_memory(db, scope, memory)
    marks = _load_marks(db, scope_id, memory)
    if (corrected := marks.get("corrected")) is not None:
        successor = f"correct memory {corrected.by} instead" if corrected.by else "see its history"
        raise BadInput(f"memory {memory} was corrected before; {successor}")
    vectors = np.asarray(vector, np.float32)[None]
    active = load_active_embedder(db)
    number_of_embedder = require_embedder(db, embedder, vectors.shape[1], active=active)
    session = insert_session(db, scope_id, None, at, ended_at=at, metadata=old.metadata)
    [turn] = insert_turns(db, scope_id, session, [utterance], old.metadata)
    progress = {"upto": turn.id, "remembered_at": micros(at)}
    save_progress(db, scope_id, session, old.method, progress)
    new = Memory(
        id=take_numbers(db, scope_id, "next_memory", 1),
        session=session,
        text=text,
        at=turn.at,
        session_ended_at=at,
        kind=old.kind,
        speakers=old.speakers,
        source_turns=(turn.id,),
        method=old.method,
        made_by=CALLER,
        metadata=old.metadata,
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
    """Pin a memory or take its pin off; False if it was so already."""
    scope_id, stored = _load_memory(db, scope, memory)
    marks = _load_marks(db, scope_id, memory)
    if pinned and "corrected" in marks:
        raise BadInput(f"memory {memory} was corrected; pin memory {marks['corrected'].by} instead")
    if ("pinned" in marks) == pinned:
        return False
    kind: MarkKind = "pinned" if pinned else "unpinned"
    insert_mark(db, scope_id, memory, kind, stored.session, stored.method)
    return True


def carry_over(
    db: sa.Connection, scope_id: int, method: str, shared: Mapping[int, Counter[int]]
) -> None:
    """Give the corrections and pins of memories to those of ``method`` that replace them.

    ``shared`` counts, for each memory to be replaced, the source turns that new ones have in
    common with it. A correction needs a memory that was made from nothing else.
    """
    marked = sa.select(t.mark.c.memory, t.mark.c.by).where(
        t.mark.c.scope == scope_id, t.mark.c.made_by == CALLER
    )
    concerned = {number for row in db.execute(marked) for number in row} & shared.keys()
    heirs: dict[int, int] = {}
    sources: dict[int, int] = {}
    for old in sorted(concerned):
        for new in shared[old]:
            own = (t.source.c.scope == scope_id, t.source.c.memory == new)
            count = sa.select(sa.func.count()).select_from(t.source).where(*own)
            sources[new] = db.execute(count).scalar_one()
        by_rest = [(sources[new] - count, -count, new) for new, count in shared[old].items()]
        if by_rest:
            heirs[old] = min(by_rest)[-1]
    for old, heir in heirs.items():
        marks = _load_marks(db, scope_id, old)
        there = _load_marks(db, scope_id, heir)
        if (row := marks.get("corrected")) is not None and "corrected" not in there:
            successor = heirs.get(row.by)
            if sources[heir] == shared[old][heir] and successor != heir:
                insert_mark(db, scope_id, heir, "corrected", row.session, method, by=successor)
                if successor is not None:
                    _link_change(db, scope_id, heir, successor, method)
        if (row := marks.get("pinned")) is not None and "pinned" not in there:
            insert_mark(db, scope_id, heir, "pinned", row.session, method)


def insert_mark(
    db: sa.Connection,
    scope_id: int,
    memory: int,
    kind: MarkKind,
    session: int,
    method: str,
    *,
    by: int | None = None,
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
        "reason": "",
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
    """Return the marks of a memory that hold, by kind."""
    m = t.mark.c
    query = sa.select(t.mark).where(m.scope == scope_id, m.memory == memory).order_by(m.id)
    marks: dict[str, sa.Row[Any]] = {}
    for row in db.execute(query):
        if row.kind in PIN_KINDS:
            marks.pop("pinned", None)
        if row.kind != "unpinned":
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
