"""Threads: the sessions that continue a conversation under the application's own key.

Only the last session of a thread can be open. It belongs to no process: any may append to it, and
it ends by a call or by a pause.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from theanine.clock import micros
from theanine.errors import BadInput, Stale
from theanine.messages.comparing import comparable_parts
from theanine.store.processes import HOLDING
from theanine.store.resent import FINGERPRINT_EDGE, LoggedTurn, fingerprint, select_new
from theanine.store.sql import schema as t
from theanine.store.sql.holders import renew_holder
from theanine.store.sql.remembering import mark_pending
from theanine.store.sql.rows import chunks, local_time
from theanine.store.sql.scopes import (
    ensure_scope,
    erased_since,
    find_scope,
    load_with_scopes,
    scope_key,
)
from theanine.store.sql.tombstones import Tombstones
from theanine.store.sql.turns import (
    check_order,
    end_session,
    insert_session,
    insert_turns,
    is_session,
    load_last_turn,
)
from theanine.store.validate import (
    check_name,
    check_scope,
    check_time,
    check_utterances,
    encode_content,
)
from theanine.store.values import Continued
from theanine.types import Scope, Utterance

_MARGIN = 50
"""Turns of a thread that are compared with a list of messages, besides twice its length."""


def continue_thread(
    db: sa.Connection,
    scope: Scope,
    thread: str | None,
    utterances: Sequence[Utterance],
    *,
    method: str,
    pause: timedelta | None = None,
    resent: bool = False,
    arriving: bool = False,
    end: bool = False,
    epoch: int | None = None,
    holder: str = "",
) -> Continued:
    """Append what is new to the thread's open session, or to a new one."""
    check_scope(scope)
    check_utterances(utterances)
    if thread is not None:
        check_name(thread, "the session's key", "")
    scope_id = ensure_scope(db, scope)
    if erased_since(db, scope_id, epoch):
        raise Stale(
            f"something of {scope} was forgotten or replaced since this turn was composed; "
            "compose it again"
        )
    latest = None if thread is None else _load_latest_session(db, scope_id, thread)
    new = _select_new(db, latest, utterances, resent=resent)
    session, last, ended = None, None, None
    if latest is not None and latest.ended_at is None:
        session, last = int(latest.id), load_last_turn(db, scope_id, latest.id)
        if new and last is not None and _has_paused(latest, last, new[0].at):
            _end_session(db, latest, last.at, method)
            session, last, ended = None, None, session
    if new:
        after = None if last is None else local_time(last.at, last.zone)
        if arriving and after is not None:
            new = [replace(turn, at=max(turn.at, after)) for turn in new]
        check_order(new, after, "")
        if session is None:
            session = insert_session(
                db,
                scope_id,
                None,
                new[0].at,
                thread=thread,
                pause=pause if thread else None,
                holder=holder,
            )
            if holder:
                renew_holder(db, holder, HOLDING)
    # The session of a thread has no metadata of its own: each message brings its.
    zone = db.execute(_SELECT_TIME_ZONE, {"scope_id": scope_id}).scalar()
    turns = insert_turns(db, scope_id, session, new, {}, zone) if session else []
    if end and session:
        end_session(db, scope, session, None, method)
    return Continued(
        session=session,
        turns=tuple(turns),
        previous=last.id if last else 0,
        known=len(utterances) - len(turns),
        ended=ended,
    )


def _select_last_session(*conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Select the last session of a thread that meets conditions.

    By number, found in an index: SQLite would read all sessions of the scope.
    """
    of_thread, scope_id = t.session.alias(), sa.bindparam("scope_id", type_=sa.Integer)
    numbers = sa.select(of_thread.c.id).where(
        of_thread.c.scope == scope_id, of_thread.c.thread == sa.bindparam("thread")
    )
    return (
        sa.select(t.session)
        .where(t.session.c.scope == scope_id, t.session.c.id.in_(numbers), *conditions)
        .order_by(t.session.c.id.desc())
        .limit(1)
    )


# Built once: SQLAlchemy takes longer to build them than SQLite to run them.
_SELECT_TIME_ZONE = sa.select(t.scope_state.c.time_zone).where(
    t.scope_state.c.scope == sa.bindparam("scope_id")
)
_SELECT_LATEST_SESSION = _select_last_session()
_SELECT_OPEN_SESSION = _select_last_session(t.session.c.ended_at.is_(None))


def _load_latest_session(db: sa.Connection, scope_id: int, thread: str) -> sa.Row[Any] | None:
    params = {"scope_id": scope_id, "thread": thread}
    return db.execute(_SELECT_LATEST_SESSION, params).one_or_none()


def _has_paused(session: sa.Row[Any], last: sa.Row[Any, Any, Any], at: datetime) -> bool:
    return session.pause is not None and micros(at) - last.at > session.pause


def _end_session(db: sa.Connection, session: sa.Row[Any], at: int, method: str) -> None:
    db.execute(t.session.update().where(*is_session(session)).values(ended_at=at))
    mark_pending(db, session.scope, session.id, method)


def find_open_session(
    db: sa.Connection, scope: Scope, thread: str, at: datetime | None = None
) -> int | None:
    """Return the number of the thread's open session; None if it has paused at a time."""
    params = {"scope_id": find_scope(db, scope), "thread": thread}
    session = db.execute(_SELECT_OPEN_SESSION, params).one_or_none()
    if session is None or at is None:
        return None if session is None else int(session.id)
    last = load_last_turn(db, session.scope, session.id)
    return None if last is not None and _has_paused(session, last, at) else int(session.id)


def load_idle_scopes(db: sa.Connection, scope: Scope | None, at: datetime) -> list[Scope]:
    """Return the scopes, or the one, with a session that has paused."""
    check_time(at, "the present")
    query = _select_idle(scope_key(db, t.session.c.scope, scope), at)
    rows = load_with_scopes(db, query, t.session.c.scope, scope)
    return list(dict.fromkeys(owner for owner, _ in rows))


def end_idle_sessions(db: sa.Connection, scope: Scope, at: datetime, method: str) -> list[int]:
    """End every session that has paused, at its last turn."""
    scope_id = find_scope(db, scope)
    query = _select_idle(sa.literal(scope_id), at).where(t.session.c.scope == scope_id)
    idle = db.execute(query).all()
    for row in idle:
        _end_session(db, row, row.last, method)
    return [int(row.id) for row in idle]


def _select_idle(scope_id: sa.ColumnElement[int], at: datetime) -> sa.Select[Any]:
    """Select open sessions that have paused; the index ``session_open`` has what is open."""
    # By number, found in an index: SQLite would read all turns of the scope.
    same = t.turn.alias()
    numbers = sa.select(same.c.id).where(same.c.scope == scope_id, same.c.session == t.session.c.id)
    last = (
        sa.select(sa.func.max(t.turn.c.at))
        .where(t.turn.c.scope == scope_id, t.turn.c.id.in_(numbers.correlate(t.session)))
        .correlate(t.session)
        .scalar_subquery()
    )
    return sa.select(t.session, last.label("last")).where(
        t.session.c.ended_at.is_(None),
        t.session.c.pause.is_not(None),
        last + t.session.c.pause < micros(at),
    )


# what is new


def _select_new(
    db: sa.Connection,
    session: sa.Row[Any] | None,
    utterances: Sequence[Utterance],
    *,
    resent: bool,
) -> list[Utterance]:
    """Return the utterances that the thread of a session doesn't have."""
    keys = [utterance.key for utterance in utterances if utterance.key is not None]
    if len(set(keys)) < len(keys):
        [key, *_] = (key for key in keys if keys.count(key) > 1)
        raise BadInput(f"two messages have the id {key!r}; ids must differ")
    if session is None or not (resent or keys):
        return list(utterances)
    of_thread = _turns_of_thread(session)
    known = {
        key
        for some in chunks(keys)
        for key in db.execute(
            sa.select(t.turn.c.key).where(*of_thread, t.turn.c.key.in_(some))
        ).scalars()
    }
    tombstones = _tombstones_of_thread(db, session)
    if tombstones:
        known |= {key for key in keys if tombstones.has_turn(key)}
    if not resent:
        return [utterance for utterance in utterances if utterance.key not in known]
    limit = 2 * len(utterances) + _MARGIN
    logged = _load_latest_turns(db, of_thread, limit, utterances)
    new = select_new(logged, utterances, known, complete=len(logged) < limit)
    return _without_forgotten(new, tombstones) if tombstones else new


def _load_latest_turns(
    db: sa.Connection,
    of_thread: Sequence[sa.ColumnElement[bool]],
    limit: int,
    sent: Sequence[Utterance],
) -> list[LoggedTurn]:
    """Return the thread's latest turns, in order.

    A long content, such as an image, is only read if none that was sent has its fingerprint.
    """
    contents = {
        (utterance.role, utterance.text, fingerprint(encode_content(utterance.content))): (
            utterance.content
        )
        for utterance in sent
    }
    turn = t.turn.c
    columns = (turn.id, turn.key, turn.role, turn.text, _fingerprint().label("fingerprint"))
    query = sa.select(*columns).where(*of_thread).order_by(turn.id.desc()).limit(limit)
    rows = db.execute(query).all()[::-1]
    unread: list[int] = []
    for row in rows:
        print_of_row = (row.role, row.text, row.fingerprint)
        if print_of_row not in contents:
            if len(row.fingerprint) > 2 * FINGERPRINT_EDGE:
                unread.append(row.id)
            else:
                contents[print_of_row] = tuple(json.loads(row.fingerprint or "[]"))
    scope_and_thread = sa.and_(*of_thread)
    read = {
        row.id: tuple(json.loads(row.content))
        for some in chunks(unread)
        for row in db.execute(
            sa.select(turn.id, turn.content).where(scope_and_thread, turn.id.in_(some))
        )
    }
    return [
        LoggedTurn(row.key, row.role, row.text, comparable_parts(row.role, row.text, content))
        for row in rows
        for content in (
            read[row.id] if row.id in read else contents[row.role, row.text, row.fingerprint],
        )
    ]


def _tombstones_of_thread(db: sa.Connection, session: sa.Row[Any]) -> Tombstones:
    own = (t.session.c.scope == session.scope, t.session.c.thread == session.thread)
    numbers = db.execute(sa.select(t.session.c.id).where(*own)).scalars()
    return Tombstones(db, session.scope, *numbers)


def _without_forgotten(new: Sequence[Utterance], tombstones: Tombstones) -> list[Utterance]:
    """Leave out what was forgotten, once: said again after that, it is new."""
    kept: list[Utterance] = []
    left_out: set[tuple[str, str]] = set()
    for utterance in new:
        words = (utterance.role, utterance.text)
        if utterance.key is None and words not in left_out and tombstones.has_words(*words):
            left_out.add(words)
        else:
            kept.append(utterance)
    return kept


def _turns_of_thread(session: sa.Row[Any]) -> tuple[sa.ColumnElement[bool], ...]:
    sessions = sa.select(t.session.c.id).where(
        t.session.c.scope == session.scope, t.session.c.thread == session.thread
    )
    return (t.turn.c.scope == session.scope, t.turn.c.session.in_(sessions))


def _fingerprint() -> sa.ColumnElement[str]:
    """Return ``resent.fingerprint`` of a turn's content, computed by the database."""
    content, edge = t.turn.c.content, FINGERPRINT_EDGE
    length = sa.func.length(content)
    ends = (sa.func.substr(content, 1, edge), sa.func.substr(content, length - edge + 1, edge))
    text = sa.cast(length, sa.Text)
    return sa.case((length <= 2 * edge, content), else_=text.concat(ends[0]).concat(ends[1]))
