"""Sessions as a person lists them: by month, with who spoke and how they begin."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from theanine.fences import one_line
from theanine.quotes import shown_words
from theanine.store.sql import schema as t
from theanine.store.sql.rows import chunks
from theanine.store.sql.scopes import find_scope
from theanine.store.sql.turns import load_sessions, load_turns
from theanine.store.values import Hidden
from theanine.types import SPOKEN, STATE, Scope, Session

BEGINNING = 200
"""Characters of the first words of a conversation; longer ones end with an ellipsis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A session as a person lists it.

    Attributes:
        session, thread, started_at, dated, turn_count: as of :class:`theanine.Session`.
        title: what its source calls it; empty if it doesn't.
        begins: the first words of the user, or of who spoke first.
        speakers: who spoke, in the order of their names.
        remembered: whether its memories were made.
    """

    session: int
    thread: str | None
    title: str
    begins: str
    speakers: tuple[str, ...]
    started_at: datetime
    dated: bool
    turn_count: int
    remembered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """The conversations of a month, such as ``2024-03``; empty for those without a date."""

    month: str
    conversations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a memory was said: its id and words, and the ids of its source turns."""

    memory: int
    words: str
    turns: tuple[int, ...]


def load_places(
    db: sa.Connection, scope: Scope, method: str, hidden: Hidden, session: int
) -> list[Place]:
    """Return where a method's memories were said in a session, but for states."""
    memory, source = t.memory.c, t.source.c
    query = (
        sa.select(memory.id, memory.text, source.turn)
        .join_from(
            t.memory, t.source, sa.and_(source.scope == memory.scope, source.memory == memory.id)
        )
        .where(memory.scope == find_scope(db, scope), memory.session == session)
        .where(memory.method == method, memory.kind != STATE)
        .order_by(memory.id, source.turn)
    )
    texts: dict[int, str] = {}
    turns: defaultdict[int, list[int]] = defaultdict(list)
    for row in db.execute(query):
        texts[row.id] = row.text
        turns[row.id].append(row.turn)
    return [
        Place(memory=number, words=shown_words(text), turns=tuple(turns[number]))
        for number, text in texts.items()
        if not hidden.has_memory(number, session)
    ]


def load_months(db: sa.Connection, scope: Scope, method: str, hidden: Hidden) -> list[Month]:
    """Return the months that have conversations, the newest first, and last what has no date."""
    counts: defaultdict[str, int] = defaultdict(int)
    for session in _shown(load_sessions(db, scope, method), hidden):
        counts[month_of(session)] += 1
    return [
        Month(month=month, conversations=count)
        for month, count in sorted(counts.items(), reverse=True)
    ]


def month_of(session: Session) -> str:
    """Return the month in which a session began, on the clock of who spoke."""
    return f"{session.started_at:%Y-%m}" if session.dated else ""


def load_conversations(
    db: sa.Connection,
    scope: Scope,
    method: str,
    hidden: Hidden,
    *,
    month: str | None = None,
    ids: Sequence[int] | None = None,
    after: int | None = None,
    limit: int | None = None,
) -> list[Conversation]:
    """Return conversations, the newest first and those without a date last: all, or some ids'.

    Only those that began in a ``month`` or before, and that come ``after`` one of them, if these
    are named.
    """
    sessions = _shown(load_sessions(db, scope, method, ids=ids), hidden)
    sessions.sort(key=lambda session: (month_of(session), session.order), reverse=True)
    if month is not None:
        sessions = [session for session in sessions if month_of(session) <= month]
    if after is not None:
        place = [session.id for session in sessions]
        sessions = sessions[place.index(after) + 1 :] if after in place else []
    sessions = sessions[:limit]
    numbers = [session.id for session in sessions]
    speakers, first = _load_beginnings(db, scope, numbers, hidden)
    texts = {turn.session: turn.full_text for turn in load_turns(db, scope, ids=first)}
    return [
        Conversation(
            session=session.id,
            thread=session.thread,
            title=str(session.metadata.get("title", "")),
            begins=one_line(" ".join(texts.get(session.id, "").split()), BEGINNING),
            speakers=tuple(sorted(speakers[session.id])),
            started_at=session.started_at,
            dated=session.dated,
            turn_count=session.turn_count,
            remembered=session.remembered_at is not None,
        )
        for session in sessions
    ]


def _load_beginnings(
    db: sa.Connection, scope: Scope, sessions: Sequence[int], hidden: Hidden
) -> tuple[defaultdict[int, set[str]], list[int]]:
    """Return who spoke in sessions, and the number of each one's first turn, best a user's."""
    turn = t.turn.c
    speakers: defaultdict[int, set[str]] = defaultdict(set)
    first: dict[int, tuple[bool, int]] = {}
    for some in chunks(sessions):
        query = (
            sa.select(turn.session, turn.speaker, turn.role, sa.func.min(turn.id).label("first"))
            .where(turn.scope == find_scope(db, scope), turn.session.in_(some))
            .where(turn.id.not_in(hidden.turns))
            .group_by(turn.session, turn.speaker, turn.role)
        )
        for row in db.execute(query):
            if row.role in SPOKEN:
                speakers[row.session].add(row.speaker)
            place = (row.role != "user", row.first)
            first[row.session] = min(first.get(row.session, place), place)
    return speakers, [number for _, number in first.values()]


def _shown(sessions: Sequence[Session], hidden: Hidden) -> list[Session]:
    return [session for session in sessions if not hidden.has_session(session.id)]
