"""The log: sessions and turns as they are said."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from theanine.clock import micros, moment
from theanine.errors import BadInput, NotFound, Stale
from theanine.store.sql import default_method as own_method
from theanine.store.sql import schema as t
from theanine.store.sql.rows import (
    SELECT_TURNS,
    chunks,
    ensure_scope,
    erased_since,
    find,
    find_scope,
    insert,
    local,
    logged,
    need_session,
    scope_names,
    scope_of,
    session_of,
    turn_of,
    turn_row,
)
from theanine.store.validate import place
from theanine.types import Scope, Session, Turn, Utterance


def start_session(
    db: sa.Connection, scope: Scope, at: datetime, key: str | None, holder: str
) -> int:
    """Begin a session, or go on with the open one of that key."""
    scope_id = ensure_scope(db, scope)
    if key is not None and (open_one := session_by_key(db, scope_id, key)) is not None:
        if open_one.ended_at is not None:
            raise BadInput(f"the session {key!r} has ended already; give the new one another key")
        db.execute(
            t.session.update()
            .where(t.session.c.scope == scope_id, t.session.c.id == open_one.id)
            .values(holder=holder)
        )
        return int(open_one.id)
    return new_session(db, scope_id, key, at, ended_at=None, dated=True, holder=holder)


def new_session(
    db: sa.Connection,
    scope_id: int,
    key: str | None,
    at: datetime,
    *,
    ended_at: datetime | None,
    dated: bool,
    holder: str = "",
) -> int:
    """Number and insert a session; one without a key gets one that sorts by its start."""
    number = next_number(db, scope_id, "next_session", 1)
    row = {
        "scope": scope_id,
        "id": number,
        "key": key or f"{moment(micros(at)):%Y-%m-%dT%H:%M:%S.%f}Z#{number}",
        "started_at": micros(at),
        "ended_at": None if ended_at is None else micros(ended_at),
        "dated": dated,
        "holder": holder,
    }
    insert(db, t.session, [row])
    return number


def next_number(db: sa.Connection, scope_id: int, counter: str, count: int) -> int:
    """Take ``count`` numbers of a scope's counter and give the first of them."""
    column = t.scope.c[counter]
    first = db.execute(
        sa.select(column).where(t.scope.c.id == scope_id).with_for_update()
    ).scalar_one()
    db.execute(t.scope.update().where(t.scope.c.id == scope_id).values({counter: first + count}))
    return int(first)


def hear(
    db: sa.Connection,
    scope: Scope,
    session: int,
    utterances: Sequence[Utterance],
    epoch: int | None,
) -> list[Turn]:
    """Append to an open session; known keys give the turn as logged."""
    scope_id = find_scope(db, scope)
    row = need_session(db, scope_id, session)
    if row.ended_at is not None:
        raise NotFound(f"session {session} has ended; start a new one")
    assert scope_id is not None
    if erased_since(db, scope_id, epoch):
        raise Stale(
            f"something of {scope} was forgotten or replaced while this was made of it; "
            "make it anew"
        )
    known = keyed_turns(db, scope_id, session, utterances)
    fresh = _unknown(utterances, known)
    last = last_turn(db, scope_id, session)
    check_order(fresh, None if last is None else local(last.at, last.zone), "")
    number = append(db, scope_id, session, fresh, first_ever=last is None)
    turns: list[Turn] = []
    for said in utterances:
        turn = known.get(said.key) if said.key is not None else None
        if turn is None:
            turn = logged(number, session, said)
            number += 1
            if said.key is not None:
                known[said.key] = turn
        turns.append(turn)
    return turns


def _unknown(utterances: Sequence[Utterance], known: dict[str, Turn]) -> list[Utterance]:
    """Those to log: neither in the log nor a second time in the same call."""
    seen = set(known)
    fresh: list[Utterance] = []
    for said in utterances:
        if said.key is None or said.key not in seen:
            fresh.append(said)
        if said.key is not None:
            seen.add(said.key)
    return fresh


def keyed_turns(
    db: sa.Connection, scope_id: int, session: int, utterances: Sequence[Utterance]
) -> dict[str, Turn]:
    """The turns of a session that have one of the utterances' keys, by key."""
    keys = [said.key for said in utterances if said.key is not None]
    found: dict[str, Turn] = {}
    for some in chunks(keys):
        query = SELECT_TURNS.where(
            t.turn.c.scope == scope_id,
            t.turn.c.session == session,
            t.turn.c.key.in_(some),
        )
        found.update((row.key, turn_of(row)) for row in db.execute(query))
    return found


_last = (
    sa.select(t.turn.c.id, t.turn.c.at, t.turn.c.zone)
    .where(
        t.turn.c.scope == sa.bindparam("scope_id"),
        t.turn.c.session == sa.bindparam("number"),
    )
    .order_by(t.turn.c.at.desc(), t.turn.c.id.desc())
    .limit(1)
)


def last_turn(db: sa.Connection, scope_id: int, session: int) -> sa.Row[Any, Any, Any] | None:
    """Number, time and offset of a session's latest turn."""
    return db.execute(_last, {"scope_id": scope_id, "number": session}).one_or_none()


def check_order(utterances: Sequence[Utterance], last: datetime | None, where: str) -> None:
    """Raises BadInput for the first turn that is earlier than the one before it."""
    for position, said in enumerate(utterances, 1):
        if last is not None and said.at < last:
            raise BadInput(
                f"the turn is of {said.at.isoformat()}, earlier than the one before it "
                f"({last.isoformat()}); hand turns in the order in which they were said",
                place(where, position, len(utterances)),
            )
        last = said.at


def append(
    db: sa.Connection,
    scope_id: int,
    session: int,
    utterances: Sequence[Utterance],
    *,
    first_ever: bool,
) -> int:
    """Number and insert turns; gives the first number."""
    if not utterances:
        return 0
    number = next_number(db, scope_id, "next_turn", len(utterances))
    rows = [turn_row(scope_id, session, number + i, said) for i, said in enumerate(utterances)]
    insert(db, t.turn, rows)
    if first_ever:  # a session starts with its first turn, whenever it was opened
        db.execute(
            t.session.update()
            .where(t.session.c.scope == scope_id, t.session.c.id == session)
            .values(started_at=rows[0]["at"])
        )
    return number


def end_session(db: sa.Connection, scope: Scope, session: int, at: datetime, method: str) -> bool:
    """Mark the session ended, never before its last turn; an empty one is removed."""
    scope_id = find_scope(db, scope)
    row = need_session(db, scope_id, session)
    assert scope_id is not None
    if row.ended_at is not None:
        return False
    this = (t.session.c.scope == scope_id, t.session.c.id == session)
    last = last_turn(db, scope_id, session)
    if last is None:
        db.execute(t.session.delete().where(*this))
        return True
    db.execute(t.session.update().where(*this).values(ended_at=max(micros(at), last.at)))
    await_remembering(db, scope_id, session, method)
    return True


def await_remembering(db: sa.Connection, scope_id: int, session: int, method: str) -> None:
    """Let ``method`` remember the session, and every other method that thought it was done."""
    here = (t.remembering.c.scope == scope_id, t.remembering.c.session == session)
    db.execute(t.remembering.update().where(*here).values(remembered_at=None))
    query = sa.select(t.remembering.c.method).where(*here, t.remembering.c.method == method)
    if db.execute(query).one_or_none() is None:
        insert(
            db,
            t.remembering,
            [{"scope": scope_id, "session": session, "method": method}],
        )
        own_method.keep(db, method)


def session_by_key(db: sa.Connection, scope_id: int, key: str) -> sa.Row[Any] | None:
    """The session that the caller knows by this key, if it is logged."""
    query = sa.select(t.session).where(t.session.c.scope == scope_id, t.session.c.key == key)
    return db.execute(query).one_or_none()


def scopes(db: sa.Connection) -> list[Scope]:
    """Scopes with a session or an entry in the journal, sorted."""
    held = [
        sa.exists().where(table.c.scope == t.scope.c.id)
        for table in (t.session, t.memory, t.journal)
    ]
    query = sa.select(t.scope).where(sa.or_(*held))
    found = [scope_of(row) for row in db.execute(query)]
    return sorted(found, key=lambda s: (s.tenant, s.agent, s.user))


def sessions(
    db: sa.Connection, scope: Scope, method: str, after: int, only: int | None
) -> list[Session]:
    """Sessions in time order, with their turns counted and their remembering's state."""
    scope_id = find_scope(db, scope)
    if scope_id is None:
        return []

    def wanted(number: sa.Column[int]) -> sa.ColumnElement[bool]:
        return number > after if only is None else number == only

    count = (
        sa.select(t.turn.c.session, sa.func.count().label("turn_count"))
        .where(t.turn.c.scope == scope_id, wanted(t.turn.c.session))
        .group_by(t.turn.c.session)
        .subquery()
    )
    mark = sa.and_(
        t.remembering.c.scope == t.session.c.scope,
        t.remembering.c.session == t.session.c.id,
        t.remembering.c.method == method,
    )
    zone = (
        sa.select(t.turn.c.zone)
        .where(t.turn.c.scope == scope_id, t.turn.c.session == t.session.c.id)
        .order_by(t.turn.c.id)
        .limit(1)
        .correlate(t.session)
        .scalar_subquery()
    )
    query = (
        sa.select(t.session, count.c.turn_count, zone.label("zone"))
        .add_columns(t.remembering.c.remembered_at, t.remembering.c.failure)
        .outerjoin_from(t.session, count, count.c.session == t.session.c.id)
        .outerjoin(t.remembering, mark)
        .where(t.session.c.scope == scope_id, wanted(t.session.c.id))
        .order_by(t.session.c.started_at, t.session.c.id)
    )
    return [session_of(row) for row in db.execute(query)]


_turns = SELECT_TURNS.where(t.turn.c.scope == find.scalar_subquery())
# Built once: recall asks it before every reply, and building it takes longer than running it.
_numbered = _turns.where(t.turn.c.id.in_(sa.bindparam("numbers", expanding=True)))


def turns(
    db: sa.Connection,
    scope: Scope,
    session: int | None,
    ids: Sequence[int] | None,
    last: int | None,
) -> list[Turn]:
    """Turns in order of number; the three filters work together."""
    if last == 0:
        return []
    names = scope_names(scope)
    if ids is None:
        query = _turns if session is None else _turns.where(t.turn.c.session == session)
        order = t.turn.c.id.desc() if last is not None else t.turn.c.id
        rows = db.execute(query.order_by(order).limit(last), names).all()
    else:
        rows = [
            row
            for some in chunks(sorted(set(ids)))
            for row in db.execute(_numbered, {**names, "numbers": some})
            if session in (None, row.session)
        ]
    found = sorted((turn_of(row) for row in rows), key=lambda turn: turn.id)
    return found if last is None else found[-last:]
