"""What a method made of one session, checked and put into the tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import sqlalchemy as sa

from theanine.clock import micros
from theanine.errors import BadInput
from theanine.store.sql import schema as t
from theanine.store.sql.rows import chunks, dumps, insert, local, minutes
from theanine.store.sql.turns import next_number
from theanine.store.sql.vectors import active_embedder, insert_vectors, need_embedder
from theanine.store.validate import check_text
from theanine.types import Memory, MemoryBatch, NewMark


def check(db: sa.Connection, scope_id: int, remembered: MemoryBatch) -> None:
    """Raises BadInput for memories, links and marks that don't fit together or into the scope."""
    count = len(remembered.memories)
    rows = 0 if remembered.vectors is None else len(np.asarray(remembered.vectors))
    if rows != count:
        raise BadInput(f"{count} memories came with {rows} vectors")
    pairs = {(link.older, link.newer) for link in remembered.links}
    if len(pairs) != len(remembered.links):
        raise BadInput("two links join the same pair of memories")
    for position, memory in enumerate(remembered.memories, 1):
        check_text(memory.text, "the text", f"memory {position}")
    for link in remembered.links:
        check_text(link.explanation, "the explanation", f"link from memory {link.older}")
    for mark in remembered.marks:
        check_text(mark.reason, "the reason", f"mark on memory {mark.memory}")
    for what, place, limit in _places(remembered):
        if not 0 <= place < limit:
            raise BadInput(f"{what} new memory {place}, which there isn't")
    for what, number in _strangers(db, scope_id, remembered):
        raise BadInput(f"{what} memory {number}, which isn't in this scope")


def _places(remembered: MemoryBatch) -> Iterator[tuple[str, int, int]]:
    """Every index into the batch, and what it must stay below."""
    count = len(remembered.memories)
    for position, memory in enumerate(remembered.memories):
        yield from (
            (f"memory {position + 1} is made of", one, position) for one in memory.derived_from_new
        )
    yield from (("a link ends at", link.newer, count) for link in remembered.links)
    yield from (("a mark names", m.by, count) for m in remembered.marks if m.by is not None)


def _strangers(
    db: sa.Connection, scope_id: int, remembered: MemoryBatch
) -> Iterator[tuple[str, int]]:
    """Every stored memory that is named and isn't there."""
    origins = [number for memory in remembered.memories for number in memory.derived_from]
    for what, numbers in (
        ("a link begins at", [link.older for link in remembered.links]),
        ("a mark stands on", [mark.memory for mark in remembered.marks]),
        ("a memory is made of", origins),
    ):
        known = _known(db, scope_id, numbers)
        yield from ((what, number) for number in numbers if number not in known)


def _known(db: sa.Connection, scope_id: int, numbers: Iterable[int]) -> set[int]:
    known: set[int] = set()
    for some in chunks(sorted(set(numbers))):
        here = (t.memory.c.scope == scope_id, t.memory.c.id.in_(some))
        known.update(db.execute(sa.select(t.memory.c.id).where(*here)).scalars())
    return known


@dataclass(frozen=True, slots=True)
class Batch:
    """Inserts what one method made of one session."""

    db: sa.Connection
    scope_id: int
    session: int
    method: str

    def insert(self, remembered: MemoryBatch, embedder: str, made_at: datetime) -> list[Memory]:
        """Number and insert everything; gives the memories as they are stored."""
        memories = self._numbered(remembered, made_at)
        rows = [self._memory(memory) for memory in memories]
        insert(self.db, t.memory, rows)
        insert(
            self.db,
            t.source,
            [self._row(memory=m.id, turn=n) for m in memories for n in m.source_turns],
        )
        insert(
            self.db,
            t.origin,
            [self._row(memory=m.id, origin=n) for m in memories for n in m.derived_from],
        )
        self._vectors(memories, remembered.vectors, embedder)
        self._links(memories, remembered)
        self._marks(memories, remembered.marks)
        return memories

    def _row(self, **columns: Any) -> dict[str, Any]:
        return {"scope": self.scope_id, **columns}

    def _numbered(self, remembered: MemoryBatch, made_at: datetime) -> list[Memory]:
        if not remembered.memories:
            return []
        first = next_number(self.db, self.scope_id, "next_memory", len(remembered.memories))
        return [
            Memory(
                id=first + i,
                session=self.session,
                text=new.text,
                at=local(micros(new.at), minutes(new.at)),
                session_ended_at=made_at,
                kind=new.kind,
                speakers=tuple(new.speakers),
                source_turns=tuple(sorted(set(new.source_turns))),
                derived_from=tuple(
                    sorted({*new.derived_from, *(first + place for place in new.derived_from_new)})
                ),
                method=self.method,
                made_by=new.made_by,
                prompt=new.prompt,
            )
            for i, new in enumerate(remembered.memories)
        ]

    def _memory(self, memory: Memory) -> dict[str, Any]:
        return self._row(
            id=memory.id,
            session=memory.session,
            method=memory.method,
            kind=memory.kind,
            text=memory.text,
            at=micros(memory.at),
            zone=minutes(memory.at),
            made_at=micros(memory.session_ended_at),
            speakers=dumps(memory.speakers),
            made_by=memory.made_by,
            prompt=memory.prompt,
        )

    def _vectors(self, memories: list[Memory], vectors: object, embedder: str) -> None:
        if not memories:
            return
        rows = np.asarray(vectors, dtype=np.float32)
        number = need_embedder(self.db, embedder, rows.shape[1], active=active_embedder(self.db))
        insert_vectors(self.db, number, [(self.scope_id, memory.id) for memory in memories], rows)

    def _links(self, memories: list[Memory], remembered: MemoryBatch) -> None:
        rows = [
            self._row(
                newer=memories[link.newer].id,
                older=link.older,
                method=self.method,
                relation=None if link.relation is None else link.relation.value,
                explanation=link.explanation,
                similarity=float(link.similarity),
                made_by=link.made_by,
                prompt=link.prompt,
            )
            for link in remembered.links
        ]
        insert(self.db, t.link, rows)

    def _marks(self, memories: list[Memory], marks: Iterable[NewMark]) -> None:
        marks = list(marks)
        if not marks:
            return
        first = next_number(self.db, self.scope_id, "next_mark", len(marks))
        rows = [
            self._row(
                id=first + i,
                memory=mark.memory,
                kind=mark.kind,
                by=None if mark.by is None else memories[mark.by].id,
                session=self.session,
                method=self.method,
                reason=mark.reason,
                made_by=mark.made_by,
                prompt=mark.prompt,
            )
            for i, mark in enumerate(marks)
        ]
        insert(self.db, t.mark, rows)
