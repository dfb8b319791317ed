"""Forgetting: which rows go, which words of others' rows go, and what has to stay."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from theanine.errors import BadInput, NotFound
from theanine.store.sql import schema as t
from theanine.store.sql import tombstones as hashes
from theanine.store.sql.journal import wordless
from theanine.store.sql.rows import chunks, find_scope, local, need_session
from theanine.store.values import ForgetReport
from theanine.types import Scope

TEXT_COLUMNS: tuple[sa.Column[Any], ...] = (
    t.scope.c.user,
    t.session.c.key,
    t.turn.c.key,
    t.turn.c.speaker,
    t.turn.c.text,
    t.turn.c.shared,
    t.given.c.text,
    t.given.c.speakers,
    t.given.c.source_keys,
    t.remembering.c.failure,
    t.turn.c.notes,
    t.memory.c.text,
    t.memory.c.speakers,
    t.mark.c.reason,
    t.link.c.explanation,
    t.journal.c.prompt,
    t.journal.c.reply,
    t.journal.c.error,
)
"""Where people's words stand: all that is looked for in the files after an erasure."""

NAME_COLUMNS: tuple[sa.Column[Any], ...] = (
    t.scope.c.agent,
    t.scope.c.tenant,
    t.setting.c.value,
    t.remembering.c.method,
    t.memory.c.method,
    t.journal.c.model,
    t.embedder.c.name,
)
"""Where names stand that aren't anyone's words, though someone may have said the very same."""


@dataclass(slots=True)
class Erasure:
    """One erasure under way: what is gone so far, its words, and what stays."""

    db: sa.Connection
    scope_id: int
    counts: dict[str, int] = field(default_factory=dict[str, int])
    texts: set[str] = field(default_factory=set[str])
    kept: list[str] = field(default_factory=list[str])
    anew: set[int] = field(default_factory=set[int])

    def delete(self, table: sa.Table, *where: sa.ColumnElement[bool]) -> None:
        """Delete rows of the scope, keeping their words in mind for the search afterwards."""
        here = (_scope_column(table) == self.scope_id, *where)
        self._collect(here, [column for column in TEXT_COLUMNS if column.table is table])
        gone = self.db.execute(table.delete().where(*here)).rowcount
        self.counts[table.name] = self.counts.get(table.name, 0) + gone

    def delete_memories(self, numbers: Sequence[int]) -> None:
        """Delete memories with their sources, vectors and every link that touches them."""
        for some in chunks(numbers):
            self.delete(t.link, sa.or_(t.link.c.newer.in_(some), t.link.c.older.in_(some)))
            self.delete(t.source, t.source.c.memory.in_(some))
            self.delete(t.origin, sa.or_(t.origin.c.memory.in_(some), t.origin.c.origin.in_(some)))
            self.delete(t.mark, sa.or_(t.mark.c.memory.in_(some), t.mark.c.by.in_(some)))
            self.delete(t.vector, t.vector.c.memory.in_(some))
            self.delete(t.memory, t.memory.c.id.in_(some))

    def delete_made_of(
        self,
        numbers: Sequence[int],
        session: int,
        method: str | None = None,
        anew: Collection[tuple[int, str]] = (),
    ) -> None:
        """Delete memories of ``session`` and what was made of them, whatever that takes.

        Each other session that loses a memory so is to be remembered anew by that method, and so
        are those in ``anew``: all that the method made of it goes, and again what was made of that.
        ``method`` is the one whose memories of ``session`` are deleted; None for all methods.
        """
        anew = set(anew)
        gone = {*numbers, *(memory for one in anew for memory in self._of(*one))}
        found = self._made_of(gone)
        while more := {row.id for row in found} - gone:
            gone |= more
            lost = {
                (row.session, row.method)
                for row in found
                if row.session != session or method not in (None, row.method)
            } - anew
            anew |= lost
            gone |= {memory for one in lost for memory in self._of(*one)}
            found = self._made_of(gone)
        self._note_reminded(gone, session)
        self.delete_memories(sorted(gone))
        for number, method in anew:
            self.delete(t.mark, t.mark.c.session == number, t.mark.c.method == method)
            self.db.execute(
                t.remembering.update()
                .where(
                    t.remembering.c.scope == self.scope_id,
                    t.remembering.c.session == number,
                    t.remembering.c.method == method,
                )
                .values(remembered_at=None, upto=0, given=0, attempts=0)
            )
        self.anew |= {number for number, _ in anew}

    def _note_reminded(self, gone: set[int], session: int) -> None:
        """Name the turns, of other sessions, that were said with any of these before the speaker.

        They may repeat it, and what was said stays in the log until it is forgotten by itself.
        """
        said = sa.select(t.turn).where(
            t.turn.c.scope == self.scope_id, t.turn.c.session != session, t.turn.c.recalled != "[]"
        )
        self.kept += [
            f"what {turn.speaker} said on {_day(turn)} (turn {turn.id} of session "
            f"{turn.session}) with this in mind: forget that session too if it repeats it"
            for turn in self.db.execute(said)
            if not gone.isdisjoint(json.loads(turn.recalled))
        ]

    def _made_of(self, numbers: set[int]) -> list[sa.Row[Any, Any, Any]]:
        """The memories that were made of any of these."""
        query = sa.select(t.memory.c.id, t.memory.c.session, t.memory.c.method).join(
            t.origin,
            sa.and_(t.origin.c.scope == t.memory.c.scope, t.origin.c.memory == t.memory.c.id),
        )
        return [
            row
            for some in chunks(sorted(numbers))
            for row in self.db.execute(
                query.where(t.memory.c.scope == self.scope_id, t.origin.c.origin.in_(some))
            )
        ]

    def _of(self, session: int, method: str) -> list[int]:
        """All memories that a method made of a session."""
        m = t.memory.c
        here = (m.scope == self.scope_id, m.session == session, m.method == method)
        return list(self.db.execute(sa.select(m.id).where(*here)).scalars())

    def erase_words(self, sessions: set[int]) -> None:
        """Take the words out of journal entries that quote one of the sessions."""
        j = t.journal.c
        here = (j.scope == self.scope_id, ~j.key.startswith("erased~", autoescape=True))
        keys = [
            row.key
            for row in self.db.execute(sa.select(j.key, j.session, j.touches).where(*here))
            if row.session in sessions or not sessions.isdisjoint(json.loads(row.touches))
        ]
        for some in chunks(keys):
            self._collect(
                (j.scope == self.scope_id, j.key.in_(some)),
                [j.prompt, j.reply, j.error],
            )
        for key in keys:
            self.db.execute(
                t.journal.update().where(j.scope == self.scope_id, j.key == key).values(wordless())
            )
        self.counts["journal"] = self.counts.get("journal", 0) + len(keys)

    def close(self) -> None:
        """Make every cache stale, stop whoever is remembering, and drop the words of failures."""
        here = t.remembering.c.scope == self.scope_id
        self._collect((here, t.remembering.c.failure.is_not(None)), [t.remembering.c.failure])
        self.db.execute(
            t.remembering.update()
            .where(here, t.remembering.c.failure.is_not(None))
            .values(failure="it failed before something was forgotten; why was erased as well")
        )
        self.db.execute(
            t.scope.update()
            .where(t.scope.c.id == self.scope_id)
            .values(epoch=t.scope.c.epoch + 1, lease_holder=None, lease_until=None)
        )

    def receipt(self, scope: Scope) -> ForgetReport:
        """What is gone; not verified yet."""
        count = self.counts.get
        return ForgetReport(
            scope=scope,
            sessions=count("session", 0),
            turns=count("turn", 0),
            memories=count("memory", 0),
            links=count("link", 0),
            vectors=count("vector", 0),
            journal=count("journal", 0),
            kept=tuple(dict.fromkeys(self.kept)),
            anew=len(self.anew),
        )

    def _collect(
        self,
        where: Sequence[sa.ColumnElement[bool]],
        columns: Sequence[sa.ColumnElement[Any]],
    ) -> None:
        if columns:
            rows = self.db.execute(sa.select(*columns).where(*where))
            self.texts.update(text for row in rows for text in row if text)


def _day(turn: Any) -> str:
    return f"{local(turn.at, turn.zone):%Y-%m-%d}"


def _scope_column(table: sa.Table) -> sa.Column[Any]:
    return table.c.id if table is t.scope else table.c.scope


def forget(
    db: sa.Connection, scope: Scope, session: int | None, memory: int | None
) -> tuple[ForgetReport, set[str]]:
    """Erase from the tables; gives the receipt and the texts that must be gone from the files."""
    if session is not None and memory is not None:
        raise BadInput("name a session or a memory to forget, not both")
    scope_id = find_scope(db, scope)
    if scope_id is None:
        raise NotFound(f"nothing is stored for {scope}; there is nothing to forget")
    erasure = Erasure(db, scope_id)
    if session is not None:
        _forget_session(erasure, session)
    elif memory is not None:
        _forget_memory(erasure, memory)
    else:
        _forget_scope(erasure)
    return erasure.receipt(scope), erasure.texts


def _forget_scope(erasure: Erasure) -> None:
    for table in (t.turn, t.given, t.remembering, t.memory, t.source, t.link, t.vector):
        erasure.delete(table)
    for table in (t.origin, t.mark, t.erased, t.journal, t.session, t.scope):
        erasure.delete(table)


def _forget_session(erasure: Erasure, session: int) -> None:
    need_session(erasure.db, erasure.scope_id, session)
    mine = sa.and_(t.memory.c.scope == erasure.scope_id, t.memory.c.session == session)
    erasure.delete_made_of(
        list(erasure.db.execute(sa.select(t.memory.c.id).where(mine)).scalars()), session
    )
    said = sa.select(t.turn.c.id).where(
        t.turn.c.scope == erasure.scope_id, t.turn.c.session == session
    )
    erasure.delete(t.source, t.source.c.turn.in_(said))
    for table in (t.turn, t.given, t.remembering, t.mark, t.erased):
        erasure.delete(table, table.c.session == session)
    erasure.erase_words({session})
    erasure.delete(t.session, t.session.c.id == session)
    erasure.close()


def _forget_memory(erasure: Erasure, memory: int) -> None:
    db, scope_id = erasure.db, erasure.scope_id
    here = (t.memory.c.scope == scope_id, t.memory.c.id == memory)
    columns = (t.memory.c.session, t.memory.c.method, t.memory.c.text)
    row = db.execute(sa.select(*columns).where(*here)).one_or_none()
    if row is None:
        raise NotFound(f"there is no memory {memory} here; see the list of memories")
    sources = db.execute(
        sa.select(t.turn)
        .join(
            t.source,
            sa.and_(t.source.c.scope == scope_id, t.source.c.turn == t.turn.c.id),
        )
        .where(t.turn.c.scope == scope_id, t.source.c.memory == memory)
        .order_by(t.turn.c.id)
    ).all()
    erasure.delete_made_of([memory], row.session, row.method)
    erasure.delete(t.given, t.given.c.session == row.session, t.given.c.text == row.text)
    hashes.keep(db, scope_id, row.session, [f"given {row.text}"])
    others = _also_resting(db, scope_id, [turn.id for turn in sources], row.method)
    gone = [turn for turn in sources if turn.id not in others]
    # What other methods made of these turns may not keep them: it is made anew without them.
    beside = _made_beside(db, scope_id, [turn.id for turn in gone], row.method)
    erasure.delete_made_of([], row.session, row.method, beside)
    for turn in sources:
        if turn.id in others:
            erasure.kept.append(
                f"what {turn.speaker} said on {_day(turn)} (turn {turn.id}): "
                f"memory {others[turn.id]} also rests on it"
            )
    for some in chunks([turn.id for turn in gone]):
        erasure.delete(t.turn, t.turn.c.id.in_(some))
    for turn in gone:
        if turn.key is not None:
            hashes.keep(db, scope_id, turn.session, [f"turn {turn.key}"])
    erasure.erase_words({row.session, *(turn.session for turn in sources)})
    erasure.close()


def _also_resting(
    db: sa.Connection, scope_id: int, turns: Sequence[int], method: str
) -> dict[int, int]:
    """For turns that some memory of the method still rests on, the first such memory."""
    query = sa.select(t.source.c.turn, sa.func.min(t.memory.c.id).label("memory"))
    here = (*_resting(scope_id, turns), t.memory.c.method == method)
    rows = db.execute(query.select_from(_SOURCES).where(*here).group_by(t.source.c.turn))
    return {row.turn: row.memory for row in rows}


def _made_beside(
    db: sa.Connection, scope_id: int, turns: Sequence[int], method: str
) -> set[tuple[int, str]]:
    """Sessions, with the method, of which other methods made memories that rest on the turns."""
    query = sa.select(t.memory.c.session, t.memory.c.method).select_from(_SOURCES)
    here = (*_resting(scope_id, turns), t.memory.c.method != method)
    return {(row.session, row.method) for row in db.execute(query.where(*here))}


_SOURCES = t.source.join(
    t.memory, sa.and_(t.memory.c.scope == t.source.c.scope, t.memory.c.id == t.source.c.memory)
)


def _resting(scope_id: int, turns: Sequence[int]) -> tuple[sa.ColumnElement[bool], ...]:
    return (t.source.c.scope == scope_id, t.source.c.turn.in_(turns))
