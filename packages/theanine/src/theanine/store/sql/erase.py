"""Erasing a scope, a session, a turn, a memory, or what has expired."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import sqlalchemy as sa

from theanine.clock import micros
from theanine.errors import BadInput, NotFound
from theanine.store.sql import schema as t
from theanine.store.sql.audit import load_pseudonyms
from theanine.store.sql.ends import ended_sessions, ended_turns, has_ends
from theanine.store.sql.erasure import Erasure
from theanine.store.sql.rows import chunks, dumps, require_session
from theanine.store.sql.scopes import find_scope
from theanine.store.sql.tombstones import (
    add_memory_tombstones,
    add_turn_tombstones,
    add_words_tombstones,
)
from theanine.store.sql.versions import add_scope_tombstone
from theanine.store.values import ForgetReport
from theanine.types import CALLER, LOCAL_MODEL, STATE, Scope

if TYPE_CHECKING:
    from theanine.store.residue_scan import Probes

Erased: TypeAlias = "tuple[ForgetReport, Probes]"
"""The report, not verified yet, and parts of the erased texts to search the files for."""

_SOURCES = t.source.join(
    t.memory, sa.and_(t.memory.c.scope == t.source.c.scope, t.memory.c.id == t.source.c.memory)
)


def forget(
    db: sa.Connection,
    scope: Scope,
    *,
    session: int | None = None,
    thread: str | None = None,
    memory: int | None = None,
    turn: int | Sequence[int] | None = None,
    keep_turns: bool = False,
) -> Erased:
    """Erase from the tables."""
    if sum(each is not None for each in (session, thread, memory, turn)) > 1:
        raise BadInput("name one session, thread, memory or turn to forget")
    if keep_turns and memory is None:
        raise BadInput("keep_turns is for forgetting a memory; name one with memory=")
    scope_id = find_scope(db, scope)
    if not scope_id:
        raise NotFound(f"nothing is stored for {scope}")
    erasure = Erasure(db, scope_id)
    if session is not None:
        require_session(db, scope_id, session)
        _forget_sessions(erasure, [session])
    elif thread is not None:
        _forget_sessions(erasure, _find_thread(db, scope_id, thread))
    elif memory is not None:
        _forget_memory(erasure, memory, keep_turns=keep_turns)
    elif turn is not None:
        _forget_named_turns(erasure, [turn] if isinstance(turn, int) else turn)
    else:
        add_scope_tombstone(db, scope, scope_id)
        erasure.delete_everything()
        remaining = _conceal_name(db, scope)
        return replace(erasure.report(scope), remaining=remaining), erasure.probes
    return erasure.report(scope), erasure.probes


def _conceal_name(db: sa.Connection, scope: Scope) -> str:
    """Replace a forgotten user's name by its pseudonym in requests, operations and keys.

    Work that is not done yet and is about the user with all agents keeps it. Returns what else goes
    on naming the user, if anything does.
    """
    pseudonym = load_pseudonyms(db).get(scope.tenant, scope.user)
    o, valid = t.operation.c, t.api_key.c.revoked_at.is_(None)
    concerned: dict[sa.Table, sa.ColumnElement[bool]] = {
        t.operation: sa.or_(o.agent == scope.agent, o.ended_at.is_not(None)),
        t.idempotent_request: t.idempotent_request.c.agent == scope.agent,
        t.api_key: ~valid,
    }
    for table, which in concerned.items():
        named = (table.c.tenant == scope.tenant, table.c.user == scope.user)
        db.execute(table.update().where(*named, which).values(user=pseudonym))
    result, in_receipts = t.operation.c.result, json.dumps(scope.user)
    named = (t.operation.c.tenant == scope.tenant, result.contains(in_receipts, autoescape=True))
    concealed = sa.func.replace(result, in_receipts, json.dumps(pseudonym))
    db.execute(t.operation.update().where(*named).values(result=concealed))
    message = t.webhook_delivery.c
    sent = (message.tenant == scope.tenant, message.state != "waiting")
    quoted = dumps(scope.user)
    db.execute(
        t.webhook_delivery.delete().where(*sent, message.payload.contains(quoted, autoescape=True))
    )
    k = t.api_key.c
    of_user = (k.tenant == scope.tenant, k.user == scope.user, valid)
    keys = db.execute(sa.select(k.id).where(*of_user).order_by(k.id)).scalars().all()
    return f"in keys of the service that are the user's: revoke {', '.join(keys)}" if keys else ""


def _find_thread(db: sa.Connection, scope_id: int, thread: str) -> Sequence[int]:
    of_thread = (t.session.c.scope == scope_id, t.session.c.thread == thread)
    sessions = db.execute(sa.select(t.session.c.id).where(*of_thread)).scalars().all()
    if not sessions:
        raise NotFound(f"no thread {thread!r} for this user; see the list of sessions")
    return sessions


def _forget_named_turns(erasure: Erasure, turns: Sequence[int]) -> None:
    _forget_turns(erasure, turns)
    if not erasure.counts["turn"]:
        named = " or ".join(map(str, turns)) or "of an empty list"
        raise NotFound(f"no turn {named} for this user; see the list of turns")
    erasure.finish()


def _forget_sessions(erasure: Erasure, sessions: Sequence[int]) -> None:
    db, scope_id = erasure.db, erasure.scope_id
    for session in sessions:  # all turns go first: none is reported as kept
        of_session = (t.turn.c.scope == scope_id, t.turn.c.session == session)
        turns = sa.select(t.turn.c.id).where(*of_session)
        erasure.delete(t.source, t.source.c.turn.in_(turns))
        erasure.delete(t.turn, t.turn.c.session == session)
    for session in sessions:
        memories = sa.select(t.memory.c.id).where(
            t.memory.c.scope == scope_id, t.memory.c.session == session
        )
        erasure.delete_with_derived(db.execute(memories).scalars(), session)
        for table in (t.given, t.remembering, t.mark, t.erased):
            erasure.delete(table, table.c.session == session)
        erasure.delete(t.session, t.session.c.id == session)
    erasure.again.difference_update(sessions)
    erasure.redact_journal(set(sessions))
    erasure.finish()


def _forget_memory(erasure: Erasure, memory: int, *, keep_turns: bool) -> None:
    """Erase a memory and, unless kept, the source turns that no other of its method uses."""
    db, scope_id = erasure.db, erasure.scope_id
    columns = (t.memory.c.session, t.memory.c.method, t.memory.c.text)
    match = (t.memory.c.scope == scope_id, t.memory.c.id == memory)
    row = db.execute(sa.select(*columns).where(*match)).one_or_none()
    if row is None:
        raise NotFound(f"no memory {memory} for this user; see the list of memories")
    source = sa.and_(t.source.c.scope == scope_id, t.source.c.turn == t.turn.c.id)
    turns = db.execute(
        sa.select(t.turn)
        .join(t.source, source)
        .where(t.turn.c.scope == scope_id, t.source.c.memory == memory)
        .order_by(t.turn.c.id)
    ).all()
    erasure.delete_with_derived([memory], row.session, row.method)
    erasure.delete(t.given, t.given.c.session == row.session, t.given.c.text == row.text)
    add_memory_tombstones(db, scope_id, row.session, [row.text])
    sessions = {row.session, *(turn.session for turn in turns)}
    if keep_turns:
        for turn in turns:
            erasure.keep(turn, "), as asked")
        erasure.redact_journal(sessions)
        erasure.finish()
        return

    users = _find_using_memories(db, scope_id, [turn.id for turn in turns], row.method)
    for turn in turns:
        if turn.id in users:
            erasure.keep(turn, f"): memory {users[turn.id]} is based on it too")
    erased = [turn for turn in turns if turn.id not in users]
    # Other methods must remember again without the erased turns.
    numbers = [turn.id for turn in erased]
    again = {pair for pair in _find_makers(db, scope_id, numbers) if pair[1] != row.method}
    erasure.delete_with_derived([], row.session, row.method, again)
    _delete_turns(erasure, erased)
    erasure.redact_journal(sessions)
    _drop_empty_sessions(erasure, sessions)
    erasure.finish()


def _forget_turns(erasure: Erasure, numbers: Sequence[int]) -> None:
    """Erase turns and all that was made from them; what other turns say is remembered again.

    A model had the whole session in its prompt, so what it wrote of that session goes as well.
    """
    db, scope_id = erasure.db, erasure.scope_id
    turns = _load_keys(db, scope_id, numbers)
    sessions = {turn.session for turn in turns}
    again = _find_makers(db, scope_id, numbers) | _find_models(db, scope_id, sessions)
    keys = {(turn.session, turn.key) for turn in turns}
    g = t.given.c
    for some in chunks(sorted(sessions)):
        given = sa.select(g.session, g.position, g.source_keys).where(
            g.scope == scope_id, g.session.in_(some)
        )
        lost = [
            (row.session, row.position)
            for row in db.execute(given)
            if any((row.session, key) in keys for key in json.loads(row.source_keys))
        ]
        for session, position in lost:
            same = (g.session == session, g.position == position)
            text = db.execute(sa.select(g.text).where(g.scope == scope_id, *same)).scalar_one()
            add_memory_tombstones(db, scope_id, session, [text])
            erasure.delete(t.given, *same)
    _delete_turns(erasure, turns)
    erasure.delete_with_derived([], 0, None, again)
    erasure.redact_journal(sessions)
    _drop_empty_sessions(erasure, sessions)


def _load_keys(
    db: sa.Connection, scope_id: int, numbers: Sequence[int]
) -> list[sa.Row[int, int, str | None]]:
    """Return id, session and key of turns: all their texts at once could be very long."""
    c = t.turn.c
    query = sa.select(c.id, c.session, c.key).where(c.scope == scope_id)
    return [row for some in chunks(numbers) for row in db.execute(query.where(c.id.in_(some)))]


def _delete_turns(erasure: Erasure, turns: Sequence[sa.Row[*tuple[Any, ...]]]) -> None:
    """Delete turns, and keep those that could be recognized from being logged again."""
    db, scope_id, s = erasure.db, erasure.scope_id, t.session.c
    of_session: defaultdict[int, list[sa.Row[Any]]] = defaultdict(list)
    for turn in turns:
        of_session[turn.session].append(turn)
    for session, erased in of_session.items():
        if keys := [turn.key for turn in erased if turn.key is not None]:
            add_turn_tombstones(db, scope_id, session, keys)
        without = [turn.id for turn in erased if turn.key is None]
        same = (s.scope == scope_id, s.id == session, s.thread.is_not(None))
        if without and db.execute(sa.select(s.id).where(*same)).first():  # may be sent again
            add_words_tombstones(db, scope_id, session, _read_words(db, scope_id, without))
    for some in chunks([turn.id for turn in turns]):
        erasure.delete(t.turn, t.turn.c.id.in_(some))


def _read_words(
    db: sa.Connection, scope_id: int, numbers: Sequence[int]
) -> Iterator[tuple[str, str]]:
    """Yield role and text of turns, a few at a time."""
    c = t.turn.c
    query = sa.select(c.role, c.text).where(c.scope == scope_id)
    for some in chunks(numbers):
        yield from db.execute(query.where(c.id.in_(some)))


def _drop_empty_sessions(erasure: Erasure, sessions: Collection[int]) -> None:
    """Delete ended sessions that hold nothing any more, not even tombstones."""
    for some in chunks(sorted(sessions)):
        holds_nothing = [
            t.session.c.id.not_in(
                sa.select(table.c.session).where(
                    table.c.scope == erasure.scope_id, table.c.session.in_(some)
                )
            )
            for table in (t.turn, t.given, t.memory, t.erased)
        ]
        match = (t.session.c.id.in_(some), t.session.c.ended_at.is_not(None), *holds_nothing)
        empty = sa.select(t.session.c.id).where(t.session.c.scope == erasure.scope_id, *match)
        numbers = list(erasure.db.execute(empty).scalars())
        erasure.delete(t.mark, t.mark.c.session.in_(numbers))
        erasure.delete(t.remembering, t.remembering.c.session.in_(numbers))
        erasure.delete(t.session, t.session.c.id.in_(numbers))
        erasure.again.difference_update(numbers)


# expiry


def has_expired(
    db: sa.Connection, scope: Scope, before: datetime | None, ended_by: datetime
) -> bool:
    """Return whether :func:`expire` would erase anything."""
    scope_id = find_scope(db, scope)
    return any(
        find(db, scope_id, before, ended_by)
        for find in (_find_expired_turns, _find_expired_imports)
    )


def expire(db: sa.Connection, scope: Scope, before: datetime | None, ended_by: datetime) -> Erased:
    """Erase turns and imported memories from before a time, and all that was made from them.

    Of those without a date nothing tells the age: they stay. What has an end of its own goes by
    then, however old it is.
    """
    erasure = Erasure(db, find_scope(db, scope))
    scope_id = erasure.scope_id
    _forget_turns(erasure, _find_expired_turns(db, scope_id, before, ended_by))
    sessions = set(_find_expired_imports(db, scope_id, before, ended_by))
    for session in sorted(sessions):
        given = (t.given.c.scope == scope_id, t.given.c.session == session)
        texts = list(db.execute(sa.select(t.given.c.text).where(*given)).scalars())
        add_memory_tombstones(db, scope_id, session, texts)
        memories = sa.select(t.memory.c.id).where(
            t.memory.c.scope == scope_id, t.memory.c.session == session
        )
        erasure.delete_with_derived(db.execute(memories).scalars(), session)
        erasure.delete(t.given, t.given.c.session == session)
    erasure.redact_journal(sessions)
    erasure.finish()
    return erasure.report(scope), erasure.probes


def _find_expired_turns(
    db: sa.Connection, scope_id: int, before: datetime | None, ended_by: datetime
) -> list[int]:
    """Return the numbers of the turns that were said before a time or have ended by another."""
    found = set(ended_turns(db, scope_id, ended_by)) if has_ends(db, scope_id) else set[int]()
    if before is not None:
        found.update(db.execute(_said_before(scope_id, before)).scalars())
    return sorted(found)


def _find_expired_imports(
    db: sa.Connection, scope_id: int, before: datetime | None, ended_by: datetime
) -> list[int]:
    """Return the numbers of the sessions of imported memories of which the same is true."""
    found = set(ended_sessions(db, scope_id, ended_by)) if has_ends(db, scope_id) else set[int]()
    given = sa.select(t.given.c.session).where(t.given.c.scope == scope_id).distinct()
    found.intersection_update(db.execute(given).scalars() if found else ())
    if before is not None:
        found.update(db.execute(_imported_before(scope_id, before)).scalars())
    return sorted(found)


def _said_before(scope_id: int, before: datetime) -> sa.Select[int]:
    session = sa.and_(t.session.c.scope == t.turn.c.scope, t.session.c.id == t.turn.c.session)
    return (
        sa.select(t.turn.c.id)
        .join(t.session, session)
        .where(t.turn.c.scope == scope_id, t.turn.c.at < micros(before), t.session.c.dated)
    )


def _imported_before(scope_id: int, before: datetime) -> sa.Select[int]:
    """Select sessions of imported memories that ended before a time."""
    session = sa.and_(t.session.c.scope == t.given.c.scope, t.session.c.id == t.given.c.session)
    return (
        sa.select(t.given.c.session)
        .distinct()
        .join(t.session, session)
        .where(
            t.given.c.scope == scope_id, t.session.c.ended_at < micros(before), t.session.c.dated
        )
    )


# what turns became


def _find_using_memories(
    db: sa.Connection, scope_id: int, turns: Sequence[int], method: str
) -> dict[int, int]:
    """Map each turn that is a source of a memory of the method to the first such memory."""
    query = sa.select(t.source.c.turn, sa.func.min(t.memory.c.id).label("memory")).select_from(
        _SOURCES
    )
    match = (t.source.c.scope == scope_id, t.source.c.turn.in_(turns), t.memory.c.method == method)
    rows = db.execute(query.where(*match).group_by(t.source.c.turn))
    return {row.turn: row.memory for row in rows}


def _find_makers(db: sa.Connection, scope_id: int, turns: Sequence[int]) -> set[tuple[int, str]]:
    """Return (session, method) of the memories that have one of the turns as a source.

    A state that a model made goes with the statements it was made from. Formerly, the correction of
    a state was a state that was made from none.
    """
    m = t.memory.c
    own = sa.or_(m.kind != STATE, m.made_by == CALLER)
    query = sa.select(m.session, m.method).select_from(_SOURCES).where(own)
    return {
        (session, method)
        for some in chunks(turns)
        for session, method in db.execute(
            query.where(t.source.c.scope == scope_id, t.source.c.turn.in_(some))
        )
    }


def _find_models(
    db: sa.Connection, scope_id: int, sessions: Collection[int]
) -> set[tuple[int, str]]:
    """Return (session, method) of the memories that a model made of any of the sessions."""
    m = t.memory.c
    query = sa.select(m.session, m.method).where(
        m.scope == scope_id, m.made_by.not_in((LOCAL_MODEL, CALLER))
    )
    return {
        (session, method)
        for some in chunks(sorted(sessions))
        for session, method in db.execute(query.where(m.session.in_(some)))
    }
