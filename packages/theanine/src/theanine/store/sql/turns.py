"""The log: live sessions and their turns, and reading all of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from theanine.clock import duration_micros, micros, moment
from theanine.errors import BadInput, NotFound, Stale
from theanine.store.processes import is_dead, is_local
from theanine.store.resent import LoggedTurn, possible_keys, separate_edits
from theanine.store.sql import schema as t
from theanine.store.sql.changes import take_turn_numbers
from theanine.store.sql.ends import note_ends
from theanine.store.sql.fixed import SCOPE, FixedSelect, Read, in_numbers, read_rows
from theanine.store.sql.holders import load_living_holders
from theanine.store.sql.remembering import mark_pending
from theanine.store.sql.rows import (
    SELECT_TURNS,
    chunks,
    dumps,
    insert_rows,
    number_turn,
    numbered,
    offset_minutes,
    read_metadata,
    require_session,
    session_from_row,
    turn_from_row,
)
from theanine.store.sql.scopes import (
    ensure_scope,
    erased_since,
    find_scope,
    load_with_scopes,
    scope_key,
    take_numbers,
)
from theanine.store.validate import (
    check_metadata,
    check_name,
    check_scope,
    check_time,
    encode_content,
    repair_metadata,
    storable_utterances,
    turn_position,
)
from theanine.types import Metadata, Role, Scope, Session, Turn, Utterance

# live sessions


def start_session(
    db: sa.Connection,
    scope: Scope,
    at: datetime,
    *,
    key: str | None = None,
    holder: str = "",
    metadata: Metadata | None = None,
) -> int:
    """Insert a session, or take over the open one with this key; return its number."""
    check_scope(scope)
    check_time(at, "the session's time")
    if key is not None:
        check_name(key, "the session's key", "")
    metadata = repair_metadata(metadata or {})
    check_metadata(metadata)
    scope_id = ensure_scope(db, scope)
    if key is not None and (row := find_session(db, scope_id, key)) is not None:
        if row.ended_at is not None:
            raise BadInput(f"session {key!r} has already ended; use another key for a new one")
        check_same_metadata(row, metadata)
        db.execute(t.session.update().where(*is_session(row)).values(holder=holder))
        return int(row.id)
    return insert_session(db, scope_id, key, at, holder=holder, metadata=metadata)


def check_same_metadata(row: sa.Row[Any], metadata: Metadata | None) -> None:
    """Raise BadInput if metadata is given that a session does not have."""
    if metadata and read_metadata(row.metadata) != metadata:
        raise BadInput(
            f"session {row.key!r} has other metadata, which never changes; give it to the turns"
        )


def find_session(db: sa.Connection, scope_id: int, key: str) -> sa.Row[Any] | None:
    """Return the session with a key; None if there is none."""
    query = sa.select(t.session).where(t.session.c.scope == scope_id, t.session.c.key == key)
    return db.execute(query).one_or_none()


def is_session(row: sa.Row[Any]) -> tuple[sa.ColumnElement[bool], ...]:
    return (t.session.c.scope == row.scope, t.session.c.id == row.id)


def insert_session(
    db: sa.Connection,
    scope_id: int,
    key: str | None,
    at: datetime,
    *,
    ended_at: datetime | None = None,
    dated: bool = True,
    holder: str = "",
    metadata: Metadata = MappingProxyType({}),
    thread: str | None = None,
    pause: timedelta | None = None,
) -> int:
    """Number and insert a session; the default key sorts by start time."""
    number = take_numbers(db, scope_id, "next_session", 1)
    row = {
        "scope": scope_id,
        "id": number,
        "key": key or f"{moment(micros(at)):%Y-%m-%dT%H:%M:%S.%f}Z#{number}",
        "started_at": micros(at),
        "ended_at": None if ended_at is None else micros(ended_at),
        "dated": dated,
        "holder": holder,
        "metadata": dumps(dict(metadata)),
        "thread": thread,
        "pause": None if pause is None else duration_micros(pause),
    }
    insert_rows(db, t.session, [row])
    note_ends(db, scope_id, [metadata])
    return number


def append_turns(
    db: sa.Connection,
    scope: Scope,
    session: int,
    utterances: Sequence[Utterance],
    *,
    epoch: int | None = None,
) -> list[Turn]:
    """Append to an open session; an utterance with a logged key returns the logged turn."""
    utterances = storable_utterances(utterances)
    row = require_session(db, find_scope(db, scope), session)
    if row.ended_at is not None:
        raise NotFound(f"session {session} has ended; start a new one")
    if erased_since(db, row.scope, epoch):
        raise Stale(
            f"something of {scope} was forgotten or replaced since this turn was composed; "
            "compose it again"
        )
    logged = load_keyed_turns(db, row.scope, session, possible_keys(utterances))
    texts = {key: LoggedTurn.of(turn) for key, turn in logged.items()}
    utterances = separate_edits(utterances, texts)
    keys = set(logged)
    new: list[Utterance] = []
    for utterance in utterances:
        if utterance.key is None or utterance.key not in keys:
            new.append(utterance)
        if utterance.key is not None:
            keys.add(utterance.key)
    last = load_last_turn(db, row.scope, session)
    inserted = insert_turns(db, row.scope, session, new, read_metadata(row.metadata))
    if inserted and last is None:  # a session starts with its first turn, not when it was opened
        started_at = micros(min(turn.at for turn in inserted))
        db.execute(t.session.update().where(*is_session(row)).values(started_at=started_at))
    logged |= {turn.key: turn for turn in inserted if turn.key is not None}
    unkeyed = (turn for turn in inserted if turn.key is None)
    return [next(unkeyed) if new.key is None else logged[new.key] for new in utterances]


def load_keyed_turns(
    db: sa.Connection, scope_id: int, session: int, keys: Sequence[str]
) -> dict[str, Turn]:
    """Return the session's turns with one of some keys, by key."""
    query = SELECT_TURNS.where(t.turn.c.scope == scope_id, t.turn.c.session == session)
    return {
        row.key: turn_from_row(row)
        for some in chunks(keys)
        for row in db.execute(query.where(t.turn.c.key.in_(some)))
    }


def select_last_turn(
    session: sa.ColumnElement[int], *columns: sa.Column[int]
) -> sa.Select[*tuple[Any, ...]]:
    """Select columns of the latest turn of a session; ``scope_id`` is the scope.

    By number, found in an index: SQLite would read all turns of the scope.
    """
    of_session, scope_id = t.turn.alias(), sa.bindparam("scope_id", type_=sa.Integer)
    numbers = sa.select(of_session.c.id).where(
        of_session.c.scope == scope_id, of_session.c.session == session
    )
    table = columns[0].table.c
    return (
        sa.select(*columns)
        .where(table.scope == scope_id, table.id.in_(numbers.correlate(t.session)))
        .order_by(table.at.desc(), table.id.desc())
        .limit(1)
    )


# Built once: SQLAlchemy takes longer to build it than SQLite to run it.
_SELECT_LAST_TURN = select_last_turn(
    sa.bindparam("number", type_=sa.Integer), t.turn.c.id, t.turn.c.at, t.turn.c.zone
)


def load_last_turn(db: sa.Connection, scope_id: int, session: int) -> sa.Row[Any] | None:
    """Return number, time and offset of the session's latest turn."""
    return db.execute(_SELECT_LAST_TURN, {"scope_id": scope_id, "number": session}).one_or_none()


def check_order(utterances: Sequence[Utterance], last: datetime | None, where: str) -> None:
    """Raise BadInput for a turn that is earlier than the previous one."""
    for position, utterance in enumerate(utterances, 1):
        if last is not None and utterance.at < last:
            raise BadInput(
                f"the turn's time, {utterance.at.isoformat()}, is earlier than that of the turn "
                f"before it, {last.isoformat()}; pass turns in time order",
                turn_position(where, position, len(utterances)),
            )
        last = utterance.at


def insert_turns(
    db: sa.Connection,
    scope_id: int,
    session: int,
    utterances: Sequence[Utterance],
    of_session: Metadata,
) -> list[Turn]:
    """Number and insert utterances of a session with this metadata; return them as turns."""
    if not utterances:
        return []
    first, time_zone = take_turn_numbers(db, scope_id, len(utterances))
    numbered_turns = enumerate(utterances, first)
    turns = [
        number_turn(new, session, number, of_session, time_zone) for number, new in numbered_turns
    ]
    rows = [
        {
            "scope": scope_id,
            "id": turn.id,
            "session": session,
            "key": turn.key,
            "speaker": turn.speaker,
            "role": turn.role,
            "at": micros(turn.at),
            "zone": offset_minutes(turn.at),
            "text": turn.text,
            "shared": turn.attachment,
            "recalled": dumps(turn.recalled),
            "notes": dumps(turn.notes),
            "metadata": dumps(dict(utterance.metadata)),
            "content": encode_content(turn.content),
        }
        for turn, utterance in zip(turns, utterances, strict=True)
    ]
    insert_rows(db, t.turn, rows)
    note_ends(db, scope_id, (utterance.metadata for utterance in utterances))
    return turns


def end_session(
    db: sa.Connection, scope: Scope, session: int, at: datetime | None, method: str
) -> bool:
    """End the session no earlier than its last turn; delete it if it is empty."""
    if at is not None:
        check_time(at, "the session's end")
    row = require_session(db, find_scope(db, scope), session)
    if row.ended_at is not None:
        return False
    last = load_last_turn(db, row.scope, session)
    if last is None:
        db.execute(t.session.delete().where(*is_session(row)))
        return True
    ended_at = last.at if at is None else max(micros(at), last.at)
    db.execute(t.session.update().where(*is_session(row)).values(ended_at=ended_at))
    mark_pending(db, row.scope, session, method)
    return True


# reading


def load_scopes(db: sa.Connection) -> list[Scope]:
    """Return scopes with a session, a memory or a journal entry, sorted."""
    has_content = [
        sa.exists().where(table.c.scope == t.scope_state.c.scope)
        for table in (t.session, t.memory, t.journal)
    ]
    state = t.scope_state.c.scope
    rows = load_with_scopes(db, sa.select(state).where(sa.or_(*has_content)), state, None)
    scopes = (scope for scope, _ in rows)
    return sorted(scopes, key=lambda scope: (scope.tenant, scope.agent, scope.user))


_PROGRESS = ("remembered_at", "failure", "set_aside")


def load_sessions(
    db: sa.Connection,
    scope: Scope,
    method: str,
    *,
    after: int = 0,
    ids: Sequence[int] | None = None,
) -> list[Session]:
    """Return sessions in time order, with their turn counts and the method's progress."""
    scope_id = find_scope(db, scope)

    def selected(number: sa.Column[int]) -> sa.ColumnElement[bool]:
        return number > after if ids is None else number.in_(ids)

    count = (
        sa.select(t.turn.c.session, sa.func.count().label("turn_count"))
        .where(t.turn.c.scope == scope_id, selected(t.turn.c.session))
        .group_by(t.turn.c.session)
        .subquery()
    )
    progress = sa.and_(
        t.remembering.c.scope == t.session.c.scope,
        t.remembering.c.session == t.session.c.id,
        t.remembering.c.method == method,
    )
    # Of the first turn, which an index has: in order, SQLite would read all turns before it.
    same = t.turn.alias()
    first = (
        sa.select(sa.func.min(same.c.id))
        .where(same.c.scope == scope_id, same.c.session == t.session.c.id)
        .correlate(t.session)
        .scalar_subquery()
    )
    zone = (
        sa.select(t.turn.c.zone)
        .where(t.turn.c.scope == scope_id, t.turn.c.id == first)
        .correlate(t.session)
        .scalar_subquery()
    )
    query = (
        sa.select(t.session, count.c.turn_count, zone.label("zone"))
        .add_columns(t.scope_state.c.time_zone)
        .add_columns(*(t.remembering.c[name] for name in _PROGRESS))
        .outerjoin_from(t.session, count, count.c.session == t.session.c.id)
        .outerjoin(t.remembering, progress)
        .join(t.scope_state, t.scope_state.c.scope == t.session.c.scope)
        .where(t.session.c.scope == scope_id, selected(t.session.c.id))
        .order_by(t.session.c.started_at, t.session.c.id)
    )
    return [session_from_row(row) for row in db.execute(query)]


def load_orphaned_sessions(
    db: sa.Connection, scope: Scope | None = None, *, remote: bool = False
) -> list[tuple[Scope, Session]]:
    """Return open sessions whose process has died, here or, by its expiry, elsewhere.

    With ``remote``, all of other machines.
    """
    living = load_living_holders(db)
    count = (
        sa.select(sa.func.count())
        .where(
            t.turn.c.scope == scope_key(db, t.session.c.scope, scope),
            t.turn.c.session == t.session.c.id,
        )
        .scalar_subquery()
    )
    query = (
        sa.select(t.session, t.scope_state.c.time_zone, count.label("turn_count"))
        .add_columns(*(sa.null().label(name) for name in ("zone", *_PROGRESS)))
        .join_from(t.session, t.scope_state, t.scope_state.c.scope == t.session.c.scope)
        .where(t.session.c.ended_at.is_(None), t.session.c.holder != "")
        .order_by(t.session.c.scope, t.session.c.id)
    )
    return [
        (owner, session_from_row(row))
        for owner, row in load_with_scopes(db, query, t.session.c.scope, scope)
        if is_dead(row.holder)
        or (not is_local(row.holder) and (remote or row.holder not in living))
    ]


# Built once: recall runs it before every reply, and building it takes longer than running it.
_SELECT_SCOPE_TURNS = SELECT_TURNS.where(t.turn.c.scope == SCOPE)
_SELECT_TURNS_BETWEEN = _SELECT_SCOPE_TURNS.where(
    t.turn.c.id > sa.bindparam("after"), t.turn.c.id <= sa.bindparam("upto")
)
_SELECT_SESSIONS_OF_THREAD = sa.select(t.session.c.id).where(
    t.session.c.scope == SCOPE,
    t.session.c.thread == sa.bindparam("thread"),
)
IN_THREAD = t.turn.alias()
_LATEST_FIRST = (IN_THREAD.c.id + 0).desc()
SELECT_NUMBERS_IN_THREAD = sa.select(IN_THREAD.c.id).where(
    IN_THREAD.c.scope == SCOPE,
    IN_THREAD.c.session.in_(_SELECT_SESSIONS_OF_THREAD),
)
"""A thread's turns are selected by number: SQLite would else read all turns of the scope."""
SELECT_LATEST_IN_THREAD = SELECT_NUMBERS_IN_THREAD.order_by(_LATEST_FIRST).limit(
    sa.bindparam("limit", type_=sa.Integer)
)
SELECT_TURNS_BY_ID = FixedSelect(
    _SELECT_SCOPE_TURNS.where(in_numbers(t.turn.c.id)).order_by(t.turn.c.id)
)
_SELECT_TURN_BY_KEY = FixedSelect(
    _SELECT_SCOPE_TURNS.where(
        t.turn.c.id.in_(
            SELECT_NUMBERS_IN_THREAD.where(IN_THREAD.c.key == sa.bindparam("key", type_=sa.Text))
        )
    ).order_by(t.turn.c.id)
)

_SELECT_LATEST_TURNS = FixedSelect(
    _SELECT_SCOPE_TURNS.where(t.turn.c.id.in_(SELECT_LATEST_IN_THREAD)).order_by(t.turn.c.id)
)


def select_turn_by_key(thread: str, key: str) -> Read:
    """Return the select of the turn with the application's id of its message in a thread."""
    return Read(_SELECT_TURN_BY_KEY, (), {"thread": thread, "key": key})


def select_latest_turns(thread: str, count: int) -> Read:
    """Return the select of the newest turns of a thread, in order of number."""
    return Read(_SELECT_LATEST_TURNS, (), {"thread": thread, "limit": count})


def load_turns(
    db: sa.Connection,
    scope: Scope,
    *,
    session: int | None = None,
    thread: str | None = None,
    role: Role | None = None,
    key: str | None = None,
    ids: Sequence[int] | None = None,
    last: int | None = None,
    after: int = 0,
    upto: int | None = None,
    with_content: bool = False,
) -> list[Turn]:
    """Return turns by number; the filters can be combined."""
    if last == 0:
        return []
    params: dict[str, Any] = {"scope_id": find_scope(db, scope)}
    if ids is None and session is None and last is None and upto is not None:
        rows = db.execute(_SELECT_TURNS_BETWEEN, {**params, "after": after, "upto": upto}).all()
    elif ids is None:
        turn = (t.turn if thread is None else IN_THREAD).c
        wanted = [numbered(turn.id, after, upto)]
        if session is not None:
            wanted.append(turn.session == session)
        if role is not None:
            wanted.append(turn.role == role)
        if key is not None:
            wanted.append(turn.key == key)
        if thread is None:
            query = _SELECT_SCOPE_TURNS.where(*wanted)
            query = query.order_by(turn.id.desc() if last is not None else turn.id).limit(last)
        else:
            numbers = SELECT_NUMBERS_IN_THREAD.where(*wanted)
            if last is not None:
                numbers = numbers.order_by(_LATEST_FIRST).limit(last)
            query = _SELECT_SCOPE_TURNS.where(t.turn.c.id.in_(numbers))
            params["thread"] = thread
        rows = db.execute(query, params).all()
    else:
        [found] = read_rows(db, scope, [Read(SELECT_TURNS_BY_ID, ids)])
        rows = [row for row in found if session in (None, row.session)]
    turns = sorted(map(turn_from_row, rows), key=lambda turn: turn.id)
    turns = turns if last is None else turns[-last:]
    return _with_content(db, scope, turns) if with_content else turns


def count_turns(
    db: sa.Connection, scope: Scope, *, session: int | None = None, thread: str | None = None
) -> int:
    """Return the number of turns of a session or of a thread."""
    params: dict[str, Any] = {"scope_id": find_scope(db, scope)}
    query = sa.select(sa.func.count()).where(t.turn.c.scope == sa.bindparam("scope_id"))
    if session is not None:
        query = query.where(t.turn.c.session == session)
    if thread is not None:
        query = query.where(t.turn.c.session.in_(_SELECT_SESSIONS_OF_THREAD))
        params["thread"] = thread
    return int(db.execute(query, params).scalar_one())


def _with_content(db: sa.Connection, scope: Scope, turns: Sequence[Turn]) -> list[Turn]:
    query = sa.select(t.turn.c.id, t.turn.c.content).where(
        t.turn.c.scope == find_scope(db, scope), t.turn.c.content != ""
    )
    contents = {
        row.id: tuple(json.loads(row.content))
        for some in chunks([turn.id for turn in turns])
        for row in db.execute(query.where(t.turn.c.id.in_(some)))
    }
    return [
        replace(turn, content=contents[turn.id]) if turn.id in contents else turn for turn in turns
    ]


def load_assistants(db: sa.Connection, scope: Scope) -> frozenset[str]:
    """Return the names under which only assistants speak."""
    turn = t.turn.c
    query = sa.select(turn.speaker, turn.role).distinct()
    rows = db.execute(query.where(turn.scope == find_scope(db, scope))).all()
    others = {row.speaker for row in rows if row.role != "assistant"}
    return frozenset(row.speaker for row in rows) - others


def load_turns_with_recalls(db: sa.Connection, scope: Scope, *, after: int = 0) -> list[Turn]:
    """Return turns above a number whose speaker was shown memories."""
    query = _SELECT_SCOPE_TURNS.where(t.turn.c.id > after, t.turn.c.recalled != "[]")
    rows = db.execute(query.order_by(t.turn.c.id), {"scope_id": find_scope(db, scope)})
    return [turn_from_row(row) for row in rows]
