"""Commit the result of remembering: memories, vectors, links, marks and progress."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from theanine.clock import micros, moment
from theanine.ends import earliest_ends
from theanine.errors import BadInput, NotFound
from theanine.store.sql import schema as t
from theanine.store.sql.leases import require_lease
from theanine.store.sql.outbox import announce
from theanine.store.sql.remembering import (
    SELECT_IMPORTED,
    load_progress,
    save_progress,
)
from theanine.store.sql.rows import (
    SELECT_TURNS,
    chunks,
    dumps,
    insert_rows,
    local_time,
    offset_minutes,
    read_metadata,
    require_session,
    values_of,
)
from theanine.store.sql.scopes import find_scope, take_numbers
from theanine.store.sql.vectors import insert_vectors, load_active_embedder, require_embedder
from theanine.store.validate import check_text
from theanine.types import (
    IMPORTED,
    QUOTING,
    Memory,
    MemoryBatch,
    Metadata,
    NewMark,
    NewMemory,
    Scope,
)


def commit_batch(
    db: sa.Connection,
    scope: Scope,
    session: int,
    method: str,
    batch: MemoryBatch,
    *,
    embedder: str,
    lease: int,
    at: datetime,
    seen: tuple[int, int] | None = None,
) -> list[Memory]:
    """Insert the batch and advance the method's progress; a second call returns nothing."""
    scope_id = find_scope(db, scope)
    if not scope_id:
        raise NotFound(f"session {session} no longer exists: its user was forgotten")
    session_row = require_session(db, scope_id, session)
    if session_row.ended_at is None:
        raise NotFound(f"session {session} is still open; end it before remembering it")
    require_lease(db, scope_id, lease, session)
    if not _advance_progress(db, scope_id, session, method, at, seen):
        return []
    _check_batch(db, scope_id, batch)
    memories = _insert_batch(db, session_row, method, batch, embedder)
    data = {"session": session, "method": method, "memories": len(memories)}
    announce(db, scope.tenant, scope.user, scope.agent, "session.remembered", data)
    return memories


# Built once: an import commits hundreds of batches a second.
_SELECT_LAST_TURN = sa.select(sa.func.max(t.turn.c.id)).where(
    t.turn.c.scope == sa.bindparam("scope_id"), t.turn.c.session == sa.bindparam("number")
)


def _advance_progress(
    db: sa.Connection,
    scope_id: int,
    session: int,
    method: str,
    at: datetime,
    seen: tuple[int, int] | None,
) -> bool:
    """Advance the progress to the last input that the method has read; False if nothing is new.

    Turns that were logged while the method worked keep the session pending.
    """
    old = load_progress(db, scope_id, session, method)
    if old is not None and old.remembered_at is not None:
        return False
    start = (old.upto, old.given) if old else (0, 0)
    same = {"scope_id": scope_id, "number": session}
    last = db.execute(_SELECT_LAST_TURN, same).scalar() or 0
    imported_rows = db.execute(SELECT_IMPORTED, {**same, "after": start[1]})
    positions = [row.position for row in imported_rows]
    end = (max(last, start[0]), max(positions, default=start[1]))
    new = end
    if seen is not None:
        last_turn, imported = seen
        handled = positions[:imported]
        new = (max(last_turn, start[0]), handled[-1] if handled else start[1])
        if new == start and new != end:
            return False
    done = new[0] >= end[0] and new[1] >= end[1]
    values = {
        "upto": new[0],
        "given": new[1],
        "failure": None,
        "retry_at": None,
        "set_aside": None,
        "remembered_at": micros(at) if done else None,
    }
    save_progress(db, scope_id, session, method, values)
    return True


# checking


def _check_batch(db: sa.Connection, scope_id: int, batch: MemoryBatch) -> None:
    """Raise BadInput if parts of the batch don't match each other or the scope."""
    count = len(batch.memories)
    rows = 0
    if batch.vectors is not None:
        import numpy as np  # here and below: loaded already by whoever made them

        rows = len(np.asarray(batch.vectors))
    if rows != count and (rows or batch.vectors is None):
        raise BadInput(f"{count} memories came with {rows} vectors")
    pairs = {(link.within_batch, link.older, link.newer) for link in batch.links}
    if len(pairs) != len(batch.links):
        raise BadInput("two links join the same pair of memories")
    for text, what, where in _texts(batch):
        check_text(text, what, where)
    for what, index, limit in _new_references(batch):
        if not 0 <= index < limit:
            raise BadInput(f"{what} new memory {index}, which does not exist")
    for what, numbers in (
        ("a link starts at", [link.older for link in batch.links if not link.within_batch]),
        ("a mark refers to", [mark.memory for mark in batch.marks]),
        ("a memory is derived from", [n for new in batch.memories for n in new.derived_from]),
    ):
        stored = _select_stored(db, scope_id, numbers)
        if missing := [number for number in numbers if number not in stored]:
            raise BadInput(f"{what} memory {missing[0]}, which is not in this scope")


def _texts(batch: MemoryBatch) -> Iterator[tuple[str, str, str]]:
    """Yield every text, with what it is and where."""
    for position, memory in enumerate(batch.memories, 1):
        yield memory.text, "the text", f"memory {position}"
        for cue in memory.cues:
            yield cue, "a cue", f"memory {position}"
    for link in batch.links:
        yield link.explanation, "the explanation", f"link from memory {link.older}"
    for mark in batch.marks:
        yield mark.reason, "the reason", f"mark on memory {mark.memory}"


def _new_references(batch: MemoryBatch) -> Iterator[tuple[str, int, int]]:
    """Yield every index of a new memory, with the limit that it must stay below."""
    for index, memory in enumerate(batch.memories):
        for other in memory.derived_from_new:
            yield f"memory {index + 1} is derived from", other, index
    for link in batch.links:
        yield "a link ends at", link.newer, len(batch.memories)
        if link.within_batch:
            yield f"a link to new memory {link.newer} starts at", link.older, link.newer
    for mark in batch.marks:
        if mark.by is not None:
            yield "a mark refers to", mark.by, len(batch.memories)


_SELECT_STORED = sa.select(t.memory.c.id, t.memory.c.metadata).where(
    t.memory.c.scope == sa.bindparam("scope_id"),
    t.memory.c.id.in_(sa.bindparam("numbers", expanding=True)),
)


def _select_stored(
    db: sa.Connection, scope_id: int, numbers: Iterable[int]
) -> dict[int, str | None]:
    """Return the metadata of the memories that are stored, by number."""
    return {
        row.id: row.metadata
        for some in chunks(sorted(set(numbers)))
        for row in db.execute(_SELECT_STORED, {"scope_id": scope_id, "numbers": some})
    }


# inserting


def _insert_batch(
    db: sa.Connection, session: sa.Row[Any], method: str, batch: MemoryBatch, embedder: str
) -> list[Memory]:
    """Number and insert everything; return the memories as stored."""
    scope_id = session.scope
    metadata = _inherit_metadata(db, session, batch.memories)
    memories: list[Memory] = []
    if batch.memories:
        first = take_numbers(db, scope_id, "next_memory", len(batch.memories))
        memories = [
            Memory(
                id=first + i,
                session=session.id,
                text=new.text,
                at=local_time(micros(new.at), offset_minutes(new.at)),
                session_ended_at=moment(session.ended_at),
                kind=new.kind,
                speakers=tuple(new.speakers),
                source_turns=tuple(sorted(set(new.source_turns))),
                derived_from=tuple(
                    sorted({*new.derived_from, *(first + other for other in new.derived_from_new)})
                ),
                method=method,
                made_by=new.made_by,
                prompt=new.prompt,
                dated=bool(session.dated),
                metadata=metadata[i],
                cues=tuple(new.cues),
            )
            for i, new in enumerate(batch.memories)
        ]
        insert_memories(db, scope_id, memories)
        import numpy as np

        vectors = np.asarray(batch.vectors, dtype=np.float32)
        active = load_active_embedder(db)
        number = require_embedder(db, embedder, vectors.shape[1], active=active)
        if len(vectors):
            insert_vectors(db, number, [(scope_id, memory.id) for memory in memories], vectors)
    common: dict[str, Any] = {"scope": scope_id, "method": method}
    links = [
        {
            **common,
            "older": memories[link.older].id if link.within_batch else link.older,
            "newer": memories[link.newer].id,
            "relation": link.relation and link.relation.value,
            "explanation": link.explanation,
            "similarity": float(link.similarity),
            "made_by": link.made_by,
            "prompt": link.prompt,
        }
        for link in batch.links
    ]
    insert_rows(db, t.link, links)
    if batch.marks:
        first_mark = take_numbers(db, scope_id, "next_mark", len(batch.marks))
        marks = [
            {
                **common,
                **values_of(NewMark, mark),
                "id": first_mark + i,
                "by": None if mark.by is None else memories[mark.by].id,
                "session": session.id,
            }
            for i, mark in enumerate(batch.marks)
        ]
        insert_rows(db, t.mark, marks)
    return memories


_SELECT_METADATA = SELECT_TURNS.with_only_columns(
    t.turn.c.id, t.turn.c.metadata, t.session.c.metadata.label("session_metadata")
).where(
    sa.or_(t.turn.c.metadata != "{}", t.session.c.metadata != "{}"),
    t.turn.c.scope == sa.bindparam("scope_id"),
    t.turn.c.id.in_(sa.bindparam("numbers", expanding=True)),
)


def _inherit_metadata(
    db: sa.Connection, session: sa.Row[Any], memories: Sequence[NewMemory]
) -> list[Metadata]:
    """Return the metadata of each new memory: what all that it was made from have in common.

    It ends with the first of them that does. A memory that names neither turns nor other memories
    has its session's, and ends with the first of its turns if a model made it of them.
    """
    turns = {turn for new in memories for turn in new.source_turns}
    stored = {memory for new in memories for memory in new.derived_from}
    of_turn = {
        row.id: read_metadata(row.session_metadata, row.metadata)
        for some in chunks(sorted(turns))
        for row in db.execute(_SELECT_METADATA, {"scope_id": session.scope, "numbers": some})
    }
    of_memory = {
        number: read_metadata(metadata)
        for number, metadata in _select_stored(db, session.scope, stored).items()
    }
    inherited: list[Metadata] = []
    for new in memories:
        sources = [of_turn.get(turn, {}) for turn in new.source_turns]
        sources += [of_memory[memory] for memory in new.derived_from]
        sources += [inherited[index] for index in new.derived_from_new]
        ending = sources = sources or [read_metadata(session.metadata)]
        if not (new.source_turns or new.derived_from or new.derived_from_new or _is_quote(new)):
            ending = [*sources, *_turn_metadata(db, session)]
        common = {
            key: value
            for key, value in sources[0].items()
            # repr tells true from 1, which are equal
            if all(key in other and repr(other[key]) == repr(value) for other in sources[1:])
        }
        inherited.append(common | earliest_ends(ending))
    return inherited


def _is_quote(new: NewMemory) -> bool:
    """Whether it says what was given, and no model wrote it."""
    return new.made_by in (*QUOTING, IMPORTED)


def _turn_metadata(db: sa.Connection, session: sa.Row[Any]) -> list[Metadata]:
    """Return the metadata of a session's turns that have any of their own."""
    c = t.turn.c
    query = sa.select(c.metadata).where(
        c.scope == session.scope, c.session == session.id, c.metadata != "{}"
    )
    return [read_metadata(metadata) for metadata in db.execute(query).scalars()]


def insert_memories(db: sa.Connection, scope_id: int, memories: Sequence[Memory]) -> None:
    """Insert numbered memories with their provenance."""
    rows = [
        {
            "scope": scope_id,
            "id": memory.id,
            "session": memory.session,
            "method": memory.method,
            "kind": memory.kind,
            "text": memory.text,
            "at": micros(memory.at),
            "zone": offset_minutes(memory.at),
            "made_at": micros(memory.session_ended_at),
            "speakers": dumps(memory.speakers),
            "made_by": memory.made_by,
            "prompt": memory.prompt,
            "metadata": dumps(dict(memory.metadata)),
            "cues": dumps(memory.cues),
        }
        for memory in memories
    ]
    sources = [
        {"scope": scope_id, "memory": memory.id, "turn": turn}
        for memory in memories
        for turn in memory.source_turns
    ]
    origins = [
        {"scope": scope_id, "memory": memory.id, "origin": origin}
        for memory in memories
        for origin in memory.derived_from
    ]
    insert_rows(db, t.memory, rows)
    insert_rows(db, t.source, sources)
    insert_rows(db, t.origin, origins)
