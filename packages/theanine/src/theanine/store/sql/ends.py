"""What expires by itself: when the first thing of a scope does, and what has.

``scope_state.expires_at`` is the earliest end of a scope's turns and sessions, so that only those
scopes are searched in which one has come.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

import sqlalchemy as sa

from theanine.clock import micros
from theanine.ends import EXPIRES, read_end
from theanine.store.sql import schema as t
from theanine.store.sql.rows import chunks, dumps, read_metadata
from theanine.store.sql.scopes import find_scope, update_state
from theanine.store.values import Hidden
from theanine.types import Metadata, Scope

_Ends = list[tuple[int, datetime]]
"""Numbers of rows that have an end, with it."""


def note_ends(db: sa.Connection, scope_id: int, stored: Iterable[Metadata]) -> None:
    """Note the earliest end of what was stored, if any has one."""
    ends = [micros(end) for metadata in stored if (end := read_end(metadata, EXPIRES))]
    if ends:
        known, first = t.scope_state.c.expires_at, min(ends)
        is_first = sa.or_(known.is_(None), known > first)
        update_state(db, scope_id, expires_at=sa.case((is_first, first), else_=known))


def recount_ends(db: sa.Connection, scope_id: int) -> None:
    """Note the earliest end of what a scope holds, or that nothing has one."""
    ends = [end for _, end in [*_of_turns(db, scope_id), *_of(db, scope_id, t.session)]]
    update_state(db, scope_id, expires_at=micros(min(ends)) if ends else None)


def has_ends(db: sa.Connection, scope_id: int) -> bool:
    """Return whether anything of a scope has an end."""
    state = t.scope_state.c
    query = sa.select(state.scope).where(state.scope == scope_id, state.expires_at.is_not(None))
    return db.execute(query).first() is not None


def load_ended(db: sa.Connection, scope: Scope, at: datetime) -> Hidden:
    """Return the turns and memories whose end has come, and the sessions of such turns only."""
    scope_id = find_scope(db, scope)
    turns = frozenset(ended_turns(db, scope_id, at))
    return Hidden(
        sessions=frozenset(_sessions_of(db, scope_id, turns)),
        turns=turns,
        memories=frozenset(_ended(_of(db, scope_id, t.memory), at)),
    )


def ended_turns(db: sa.Connection, scope_id: int, at: datetime) -> list[int]:
    """Return the numbers of the turns whose end has come at a time."""
    return _ended(_of_turns(db, scope_id), at)


def ended_sessions(db: sa.Connection, scope_id: int, at: datetime) -> list[int]:
    """Return the numbers of the sessions whose end has come at a time."""
    return _ended(_of(db, scope_id, t.session), at)


def _ended(ends: _Ends, at: datetime) -> list[int]:
    return [number for number, end in ends if end <= at]


def _of(db: sa.Connection, scope_id: int, table: sa.Table) -> _Ends:
    """Return the ends of sessions or memories."""
    c = table.c
    query = sa.select(c.id, c.metadata).where(c.scope == scope_id, _names_end(table))
    rows = db.execute(query)
    return [(id, end) for id, text in rows if (end := read_end(read_metadata(text), EXPIRES))]


def _of_turns(db: sa.Connection, scope_id: int) -> _Ends:
    """Return the ends of turns: their own, or else those of their sessions."""
    turn, session = t.turn.c, t.session.c
    query = (
        sa.select(turn.id, session.metadata.label("of_session"), turn.metadata)
        .join(t.session, sa.and_(session.scope == turn.scope, session.id == turn.session))
        .where(turn.scope == scope_id, sa.or_(_names_end(t.turn), _names_end(t.session)))
    )
    return [
        (row.id, end)
        for row in db.execute(query)
        if (end := read_end(read_metadata(row.of_session, row.metadata), EXPIRES))
    ]


def _sessions_of(db: sa.Connection, scope_id: int, turns: Collection[int]) -> set[int]:
    """Return the sessions of which all turns are among some."""
    turn, some = t.turn.c, set[int]()
    of_scope = sa.select(turn.session, turn.id).where(turn.scope == scope_id)
    for numbers in chunks([*turns]):
        some |= {row.session for row in db.execute(of_scope.where(turn.id.in_(numbers)))}
    whole = set(some)
    for sessions in chunks([*some]):
        rows = db.execute(of_scope.where(turn.session.in_(sessions)))
        whole -= {row.session for row in rows if row.id not in turns}
    return whole


def _names_end(table: sa.Table) -> sa.ColumnElement[bool]:
    return table.c.metadata.contains(dumps(EXPIRES), autoescape=True)
