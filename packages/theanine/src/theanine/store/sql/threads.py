"""Threads: the sessions that continue a conversation under the application's own key.

Only the last session of a thread can be open. It belongs to no process: any may append to it, and
it ends by a call or by a pause.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from theanine.clock import micros
from theanine.errors import BadInput, Stale
from theanine.messages.comparing import comparable_parts
from theanine.store.processes import HOLDING
from theanine.store.resent import (
    FINGERPRINT_EDGE,
    LoggedTurn,
    fingerprint,
    possible_keys,
    select_new,
    separate_edits,
)
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
    IN_THREAD,
    SELECT_LATEST_IN_THREAD,
    SELECT_NUMBERS_IN_THREAD,
    end_session,
    insert_session,
    insert_turns,
    is_session,
    select_last_turn,
)
from theanine.store.validate import (
    check_name,
    check_scope,
    check_time,
    encode_content,
    storable_utterances,
)
from theanine.store.values import Continued
from theanine.types import Scope, Utterance

_MARGIN = 50
"""Turns of a thread that are compared with new messages, in addition to twice their number."""


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
    utterances = storable_utterances(utterances)
    if thread is not None:
        check_name(thread, "the session's key", "")
    scope_id = ensure_scope(db, scope)
    if erased_since(db, scope_id, epoch):
        raise Stale(
            f"something of {scope} was forgotten or replaced since this turn was composed; "
            "compose it again"
        )
    latest = None if thread is None else _load_latest_session(db, scope_id, thread)
    utterances, selected = _select_new(db, latest, utterances, resent=resent, dated=not arriving)
    new = [utterance for utterance in selected if utterance is not None]
    session, ended = None, None
    if latest is not None and latest.ended_at is None:
        session = int(latest.id)
        if new and _has_paused(latest, new[0].at):
            _end_session(db, latest, latest.last_at, method)
            session, ended = None, session
    last = latest if session is not None and latest is not None and latest.last_turn else None
    if new:
        after = None if last is None else local_time(last.last_at, last.last_zone)
        if arriving and after is not None:
            new = [replace(turn, at=max(turn.at, after)) for turn in new]
        if session is None:
            session = insert_session(
                db,
                scope_id,
                None,
                min(turn.at for turn in new),
                thread=thread,
                pause=pause if thread else None,
                holder=holder,
            )
            if holder:
                renew_holder(db, holder, HOLDING)
    # The session of a thread has no metadata of its own: each message brings its.
    turns = insert_turns(db, scope_id, session, new, {}) if session else []
    if end and session:
        end_session(db, scope, session, None, method)
    return Continued(
        session=session,
        turns=tuple(turns),
        previous=last.last_turn if last else 0,
        known=tuple(each for each, new in zip(utterances, selected, strict=True) if new is None),
        ended=ended,
    )


def _select_latest_session() -> sa.Select[Any]:
    """Select the last session of a thread, its last turn's number, its latest time and offset.

    By number, found in an index: SQLite would read all sessions of the scope.
    """
    scope_id = sa.bindparam("scope_id", type_=sa.Integer)
    of_thread, turn, last = t.session.alias(), t.turn.alias(), t.turn.alias()
    newest = t.turn.alias()
    number = sa.select(sa.func.max(of_thread.c.id)).where(
        of_thread.c.scope == scope_id, of_thread.c.thread == sa.bindparam("thread")
    )
    latest = select_last_turn(t.session.c.id, turn.c.id).correlate(t.session)
    last_turn = (  # which is not the latest where that came late
        sa.select(sa.func.max(newest.c.id))
        .where(newest.c.scope == scope_id, newest.c.session == t.session.c.id)
        .correlate(t.session)
        .scalar_subquery()
    )
    is_last = sa.and_(last.c.scope == scope_id, last.c.id == latest.scalar_subquery())
    return (
        sa.select(t.session, last_turn.label("last_turn"))
        .add_columns(last.c.at.label("last_at"), last.c.zone.label("last_zone"))
        .outerjoin_from(t.session, last, is_last)
        .where(t.session.c.scope == scope_id, t.session.c.id == number.scalar_subquery())
    )


_SELECT_LATEST_SESSION = _select_latest_session()


def _load_latest_session(db: sa.Connection, scope_id: int, thread: str) -> sa.Row[Any] | None:
    params = {"scope_id": scope_id, "thread": thread}
    return db.execute(_SELECT_LATEST_SESSION, params).one_or_none()


def _has_paused(latest: sa.Row[Any], at: datetime) -> bool:
    if latest.pause is None or latest.last_turn is None:
        return False
    return micros(at) - latest.last_at > latest.pause


def _end_session(db: sa.Connection, session: sa.Row[Any], at: int, method: str) -> None:
    db.execute(t.session.update().where(*is_session(session)).values(ended_at=at))
    mark_pending(db, session.scope, session.id, method)


def find_open_session(
    db: sa.Connection, scope: Scope, thread: str, at: datetime | None = None
) -> int | None:
    """Return the number of the thread's open session; None if it has paused at a time."""
    latest = _load_latest_session(db, find_scope(db, scope), thread)
    if latest is None or latest.ended_at is not None:
        return None
    return None if at is not None and _has_paused(latest, at) else int(latest.id)


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


def _fingerprint() -> sa.ColumnElement[str]:
    """Return ``resent.fingerprint`` of a turn's content, computed by the database."""
    content, edge = t.turn.c.content, FINGERPRINT_EDGE
    length = sa.func.length(content)
    ends = (sa.func.substr(content, 1, edge), sa.func.substr(content, length - edge + 1, edge))
    text = sa.cast(length, sa.Text)
    return sa.case((length <= 2 * edge, content), else_=text.concat(ends[0]).concat(ends[1]))


# Built once, like all that each message runs.
_IN_SCOPE = t.turn.c.scope == sa.bindparam("scope_id")
_SELECT_COMPARED = (
    sa.select(t.turn.c.id, t.turn.c.key, t.turn.c.at, t.turn.c.role, t.turn.c.text)
    .add_columns(_fingerprint().label("fingerprint"))
    .where(_IN_SCOPE)
    .order_by(t.turn.c.id.desc())
)
_SELECT_LATEST_TURNS = _SELECT_COMPARED.where(t.turn.c.id.in_(SELECT_LATEST_IN_THREAD))
_SELECT_KEYED_TURNS = _SELECT_COMPARED.where(
    t.turn.c.id.in_(
        SELECT_NUMBERS_IN_THREAD.where(IN_THREAD.c.key.in_(sa.bindparam("keys", expanding=True)))
    )
)
_SELECT_CONTENTS = sa.select(t.turn.c.id, t.turn.c.content).where(
    _IN_SCOPE, t.turn.c.id.in_(sa.bindparam("numbers", expanding=True))
)


def _select_new(
    db: sa.Connection,
    session: sa.Row[Any] | None,
    utterances: Sequence[Utterance],
    *,
    resent: bool,
    dated: bool,
) -> tuple[Sequence[Utterance], Sequence[Utterance | None]]:
    """Return the utterances, edited ones with a key of their own, and those that are new.

    In place of those that the thread of the session has, the second list has None.
    """
    keys = possible_keys(utterances)
    if len(set(keys)) < len(keys):
        [key, *_] = (key for key in keys if keys.count(key) > 1)
        raise BadInput(f"two messages have the id {key!r}; ids must differ")
    if session is None or not (resent or keys):
        return utterances, utterances
    thread = {"scope_id": session.scope, "thread": session.thread}
    keyed = {
        turn.key: turn
        for some in chunks(keys)
        for turn in _load_turns(db, _SELECT_KEYED_TURNS, {**thread, "keys": some}, utterances)
        if turn.key is not None
    }
    utterances = separate_edits(utterances, keyed)
    known = {utterance.key for utterance in utterances if utterance.key in keyed}
    tombstones = Tombstones.of_thread(db, session.scope, session.thread)
    if tombstones:
        known |= {key for key in keys if tombstones.has_turn(key)}
    if not resent:
        return utterances, [None if each.key in known else each for each in utterances]
    limit = 2 * len(utterances) + _MARGIN
    logged = _load_turns(db, _SELECT_LATEST_TURNS, {**thread, "limit": limit}, utterances)
    new = select_new(logged, utterances, known, complete=len(logged) < limit, dated=dated)
    return utterances, _without_forgotten(new, tombstones) if tombstones else new


def _load_turns(
    db: sa.Connection,
    query: sa.Select[Any],
    parameters: Mapping[str, object],
    sent: Sequence[Utterance],
) -> list[LoggedTurn]:
    """Return some of the thread's turns, in order.

    A long content, such as an image, is only read if none that was sent has its fingerprint.
    """
    contents = {
        (utterance.role, utterance.text, fingerprint(encode_content(utterance.content))): (
            utterance.content
        )
        for utterance in sent
    }
    rows = db.execute(query, parameters).all()[::-1]
    unread: list[int] = []
    for row in rows:
        print_of_row = (row.role, row.text, row.fingerprint)
        if print_of_row not in contents:
            if len(row.fingerprint) > 2 * FINGERPRINT_EDGE:
                unread.append(row.id)
            else:
                contents[print_of_row] = tuple(json.loads(row.fingerprint or "[]"))
    read = {
        row.id: tuple(json.loads(row.content))
        for some in chunks(unread)
        for row in db.execute(_SELECT_CONTENTS, {**parameters, "numbers": some})
    }
    return [
        LoggedTurn(
            row.key, row.at, row.role, row.text, comparable_parts(row.role, row.text, content)
        )
        for row in rows
        for content in (
            read[row.id] if row.id in read else contents[row.role, row.text, row.fingerprint],
        )
    ]


def _without_forgotten(
    new: Sequence[Utterance | None], tombstones: Tombstones
) -> list[Utterance | None]:
    """Leave out messages that were forgotten, each once: if repeated later, it is new."""
    kept: list[Utterance | None] = []
    left_out: set[tuple[str, str]] = set()
    for utterance in new:
        if utterance is None or utterance.key is not None:
            kept.append(utterance)
            continue
        words = (utterance.role, utterance.text)
        is_forgotten = words not in left_out and tombstones.has_words(*words)
        if is_forgotten:
            left_out.add(words)
        kept.append(None if is_forgotten else utterance)
    return kept
