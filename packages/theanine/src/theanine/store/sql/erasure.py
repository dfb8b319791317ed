"""An erasure in progress: deleting rows with all that was derived from them, and their texts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from theanine.store.sql import schema as t
from theanine.store.sql.ends import has_ends, recount_ends
from theanine.store.sql.journal import erased_columns
from theanine.store.sql.repetition import ErasedWords
from theanine.store.sql.rows import chunks, local_time
from theanine.store.sql.scopes import invalidate_scope
from theanine.store.values import ForgetReport
from theanine.types import STATE, Scope

if TYPE_CHECKING:
    from theanine.store.residue_scan import Probes

TEXT_COLUMNS: tuple[sa.Column[Any], ...] = (
    t.scope.c.user,
    t.session.c.key,
    t.session.c.metadata,
    t.session.c.thread,
    t.turn.c.key,
    t.turn.c.speaker,
    t.turn.c.text,
    t.turn.c.shared,
    t.turn.c.content,
    t.given.c.text,
    t.given.c.speakers,
    t.given.c.source_keys,
    t.remembering.c.failure,
    t.turn.c.notes,
    t.turn.c.metadata,
    t.memory.c.text,
    t.memory.c.speakers,
    t.memory.c.metadata,
    t.memory.c.cues,
    t.mark.c.reason,
    t.link.c.explanation,
    t.journal.c.prompt,
    t.journal.c.reply,
    t.journal.c.error,
)
"""Columns with personal data: after an erasure, the files are searched for their values."""

NAME_COLUMNS: tuple[sa.Column[Any], ...] = (
    t.scope.c.agent,
    t.scope.c.tenant,
    t.setting.c.value,
    t.remembering.c.method,
    t.memory.c.method,
    t.journal.c.model,
    t.embedder.c.name,
)
"""Columns with other names, which may happen to equal an erased text."""


_SHOWS_EARLIER = "summarize"
"""The step whose prompts may list statements of earlier sessions, each in a line of its own."""
_READ_ROWS = 500
_SAID = (t.turn.c.text, t.turn.c.shared, t.memory.c.text, t.given.c.text)


def _new_probes() -> Probes:
    from theanine.store.residue_scan import Probes  # most commands erase nothing

    return Probes()


@dataclass(slots=True)
class Erasure:
    """An erasure in progress.

    Attributes:
        counts: rows deleted so far, by table; for the journal, entries redacted.
        probes: slices of the values of ``TEXT_COLUMNS`` that were deleted, to look for in files; of
            no use in PostgreSQL, whose files can't be searched.
        said: words of the turns and memories that were deleted.
        kept: what had to be kept, and why.
        kept_texts: the texts of the turns that ``kept`` names.
        again: sessions of which memories were lost, to be remembered again.
    """

    db: sa.Connection
    scope_id: int
    counts: Counter[str] = field(default_factory=Counter[str])
    probes: Probes = field(default_factory=_new_probes)
    said: ErasedWords = field(default_factory=ErasedWords)
    kept: list[str] = field(default_factory=list[str])
    kept_texts: list[str] = field(default_factory=list[str])
    again: set[int] = field(default_factory=set[int])

    def delete(self, table: sa.Table, *where: sa.ColumnElement[bool]) -> None:
        """Delete rows of the scope and collect their texts."""
        said = [column for column in _SAID if column.table is table]
        for text in self._read(said, (table.c.scope == self.scope_id, *where)) if said else ():
            self.said.add(text)
        self._delete(table, where)

    def delete_everything(self) -> None:
        """Delete all rows of the scope; nothing is kept that could repeat any of it."""
        for table in t.metadata.sorted_tables:
            if table is t.scope or "scope" in table.c:
                self._delete(table, ())

    def _delete(self, table: sa.Table, where: Sequence[sa.ColumnElement[bool]]) -> None:
        owner = table.c.id if table is t.scope else table.c.scope
        match = (owner == self.scope_id, *where)
        self._collect_texts(match, [column for column in TEXT_COLUMNS if column.table is table])
        self.counts[table.name] += self.db.execute(table.delete().where(*match)).rowcount

    def delete_with_derived(
        self,
        memories: Iterable[int],
        session: int,
        method: str | None = None,
        again: Collection[tuple[int, str]] = (),
    ) -> None:
        """Delete memories of ``session`` and all memories that were derived from them.

        Any other session that so loses a memory of some method is remembered again by that method:
        all its memories by that method are deleted, with what was derived from them. The same
        happens to the (session, method) pairs in ``again``. What is only a state is deleted alone:
        its session loses nothing that was said, and keeps the marks and links of its statements.
        ``method`` is the one that made ``memories``; None if several did.
        """
        again = set(again)
        deleted = {*memories, *(number for pair in again for number in self._memories_of(*pair))}
        derived = self._load_derived(deleted)
        while new := {row.id for row in derived} - deleted:
            lost = {
                (row.session, row.method)
                for row in derived
                if row.kind != STATE
                and (row.session != session or method not in (None, row.method))
            } - again
            again |= lost
            deleted |= new | {number for pair in lost for number in self._memories_of(*pair)}
            derived = self._load_derived(deleted)
        self._note_recalls(deleted, session)
        for some in chunks(sorted(deleted)):
            self.delete(t.link, sa.or_(t.link.c.newer.in_(some), t.link.c.older.in_(some)))
            self.delete(t.source, t.source.c.memory.in_(some))
            self.delete(t.origin, sa.or_(t.origin.c.memory.in_(some), t.origin.c.origin.in_(some)))
            self.delete(t.mark, sa.or_(t.mark.c.memory.in_(some), t.mark.c.by.in_(some)))
            self.delete(t.vector, t.vector.c.memory.in_(some))
            self.delete(t.memory, t.memory.c.id.in_(some))
        r = t.remembering.c
        for number, name in again:
            self.delete(t.mark, t.mark.c.session == number, t.mark.c.method == name)
            self.db.execute(
                t.remembering.update()
                .where(r.scope == self.scope_id, r.session == number, r.method == name)
                .values(remembered_at=None, upto=0, given=0, attempts=0)
            )
        self.again |= {number for number, _ in again}

    def _memories_of(self, session: int, method: str) -> list[int]:
        m = t.memory.c
        match = (m.scope == self.scope_id, m.session == session, m.method == method)
        return list(self.db.execute(sa.select(m.id).where(*match)).scalars())

    def _load_derived(self, memories: set[int]) -> list[sa.Row[Any, Any, Any, Any]]:
        """Return id, session, method and kind of what was derived from any of the memories."""
        m, o = t.memory.c, t.origin.c
        same = sa.and_(o.scope == m.scope, o.memory == m.id)
        query = sa.select(m.id, m.session, m.method, m.kind).join(t.origin, same)
        query = query.where(m.scope == self.scope_id)
        return [
            row
            for some in chunks(sorted(memories))
            for row in self.db.execute(query.where(o.origin.in_(some)))
        ]

    def _note_recalls(self, memories: set[int], session: int) -> None:
        """Report turns of other sessions whose speaker was shown any of the memories.

        They may repeat them, but what was said stays until its own session is forgotten.
        """
        c = t.turn.c
        showing = sa.select(c.id, c.recalled).where(
            c.scope == self.scope_id, c.session != session, c.recalled != "[]"
        )
        numbers = [
            row.id
            for row in self.db.execute(showing)
            if not memories.isdisjoint(json.loads(row.recalled))
        ]
        for some in chunks(numbers):
            turns = sa.select(t.turn).where(c.scope == self.scope_id, c.id.in_(some))
            for turn in self.db.execute(turns.order_by(c.id)):
                self.keep(
                    turn,
                    f" of session {turn.session}) after recalling it: forget that session too if "
                    "it repeats it",
                )

    def keep(self, turn: Any, why: str) -> None:
        """Report that a turn stays; ``why`` follows its number and closes the parenthesis."""
        self.kept.append(f"what {turn.speaker} said on {turn_date(turn)} (turn {turn.id}{why}")
        self.kept_texts += [text for text in (turn.text, turn.shared) if text]

    def redact_journal(self, sessions: set[int]) -> None:
        """Erase the text of journal entries that quote any of the sessions."""
        j = t.journal.c
        current = (j.scope == self.scope_id, ~j.key.startswith("erased~", autoescape=True))
        quoting = [
            row
            for row in self.db.execute(
                sa.select(j.key, j.step, j.session, j.touches).where(*current)
            )
            if row.session in sessions or not sessions.isdisjoint(json.loads(row.touches))
        ]
        keys = [row.key for row in quoting]
        self._note_shown(
            (row.session, row.key)
            for row in quoting
            if row.step == _SHOWS_EARLIER and row.session not in sessions
        )
        for some in chunks(keys):
            match = (j.scope == self.scope_id, j.key.in_(some))
            self._collect_texts(match, [j.prompt, j.reply, j.error])
        for key in keys:
            match = (j.scope == self.scope_id, j.key == key)
            self.db.execute(t.journal.update().where(*match).values(erased_columns()))
        self.counts["journal"] += len(keys)

    def _note_shown(self, entries: Iterable[tuple[int, str]]) -> None:
        """Report sessions whose model was shown what was erased, as a statement from before.

        Their memories may repeat it, but stay: they were made of what was said in that session.
        """
        j, m = t.journal.c, t.memory.c
        shown = set[int]()
        for session, key in entries:
            if session in shown:
                continue
            prompt = sa.select(j.prompt).where(j.scope == self.scope_id, j.key == key)
            lines = self.db.execute(prompt).scalar_one().split(r"\n")  # it is JSON
            known = (line[2:] for line in lines if line.startswith("- "))
            if any(map(self.said.are_repeated_by, known)):
                shown.add(session)
        written = m.prompt.startswith(f"{_SHOWS_EARLIER}@", autoescape=True)
        query = sa.select(m.session).distinct().where(m.scope == self.scope_id, written)
        for some in chunks(sorted(shown)):
            having = query.where(m.session.in_(some)).order_by(m.session)
            self.kept += [
                f"memories of session {session}, which a model wrote with this in view: forget "
                "that session too if they repeat it"
                for session in self.db.execute(having).scalars()
            ]

    def finish(self) -> None:
        """Invalidate caches and the lease, and erase the reasons of failures."""
        failure = t.remembering.c.failure
        match = (t.remembering.c.scope == self.scope_id, failure.is_not(None))
        self._collect_texts(match, [failure])
        reason = "failed before something was forgotten; the reason was erased too"
        self.db.execute(t.remembering.update().where(*match).values(failure=reason))
        if has_ends(self.db, self.scope_id):
            recount_ends(self.db, self.scope_id)
        invalidate_scope(self.db, self.scope_id)

    def report(self, scope: Scope) -> ForgetReport:
        """Return what was erased, not verified yet."""
        return ForgetReport(
            scope=scope,
            sessions=self.counts["session"],
            turns=self.counts["turn"],
            memories=self.counts["memory"],
            links=self.counts["link"],
            vectors=self.counts["vector"],
            journal=self.counts["journal"],
            kept=tuple(dict.fromkeys(self.kept)),
            kept_repeats=any(map(self.said.are_repeated_by, self.kept_texts)),
            pending_again=len(self.again),
        )

    def _collect_texts(
        self, where: Sequence[sa.ColumnElement[bool]], columns: Sequence[sa.ColumnElement[Any]]
    ) -> None:
        if columns and self.db.dialect.name == "sqlite":
            for text in self._read(columns, where):
                self.probes.add_text(text)

    def _read(
        self, columns: Sequence[sa.ColumnElement[Any]], where: Sequence[sa.ColumnElement[bool]]
    ) -> Iterator[str]:
        """Yield texts, however many there are, a few at a time."""
        for rows in self.db.execute(sa.select(*columns).where(*where)).partitions(_READ_ROWS):
            yield from (text for row in rows for text in row if text)


def turn_date(turn: Any) -> str:
    """Return the day of a turn's row."""
    return f"{local_time(turn.at, turn.zone):%Y-%m-%d}"
