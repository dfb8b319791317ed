"""Whole sessions from elsewhere: logged once, however often they are handed in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import sqlalchemy as sa

from theanine.clock import micros
from theanine.errors import BadInput
from theanine.store.sql import schema as t
from theanine.store.sql.rows import dumps, ensure_scope, given_of, insert, local
from theanine.store.sql.tombstones import Tombstones
from theanine.store.sql.turns import (
    append,
    await_remembering,
    check_order,
    keyed_turns,
    last_turn,
    new_session,
    session_by_key,
)
from theanine.store.values import Logged
from theanine.types import ImportedMemory, Scope, Transcript, Turn, Utterance


def log_transcript(db: sa.Connection, scope: Scope, transcript: Transcript, method: str) -> Logged:
    """Log what of the transcript isn't in the log yet; only its end may be new."""
    scope_id = ensure_scope(db, scope)
    where = f"session {transcript.key!r}"
    row = session_by_key(db, scope_id, transcript.key)
    said, given = with_keys(transcript.turns), list(enumerate(transcript.memories, 1))
    handed_in = len(said) + len(given)
    if row is None:
        check_order(said, None, where)
        start = said[0].at if said else transcript.at
        end = said[-1].at if said else transcript.at
        session = new_session(
            db, scope_id, transcript.key, start, ended_at=end, dated=transcript.dated
        )
        fresh: Sequence[Utterance] = said
    else:
        if row.ended_at is None:
            raise BadInput("it is being talked in right now; end it first", where)
        session = int(row.id)
        forgotten = Tombstones(db, scope_id, session)
        said = [turn for turn in said if f"turn {turn.key}" not in forgotten]
        given = [one for one in given if f"given {one[1].text}" not in forgotten]
        fresh = _new_end(db, scope_id, session, said, where, dated=bool(row.dated))
    append(db, scope_id, session, fresh, first_ever=False)
    more = _add_given(db, scope_id, session, given, where)
    if row is not None and fresh:
        _move_end(db, scope_id, session, fresh)
    if row is None or fresh or more:
        await_remembering(db, scope_id, session, method)
    return Logged(
        session=session,
        new_turns=len(fresh),
        new_memories=more,
        new=row is None,
        forgotten=handed_in - len(said) - len(given),
    )


def with_keys(turns: Sequence[Utterance]) -> list[Utterance]:
    """Turns without a key get one from their place, so that the next import knows them again."""
    return [
        turn if turn.key is not None else replace(turn, key=f"#{place}")
        for place, turn in enumerate(turns, 1)
    ]


def _new_end(
    db: sa.Connection,
    scope_id: int,
    session: int,
    said: Sequence[Utterance],
    where: str,
    *,
    dated: bool,
) -> list[Utterance]:
    """The turns behind all known ones. Raises BadInput for others, and where known ones differ."""
    known = keyed_turns(db, scope_id, session, said)
    fresh: list[Utterance] = []
    for place, turn in enumerate(said, 1):
        old = known.get(turn.key or "")
        if old is None:
            fresh.append(turn)
            continue
        if fresh:
            raise BadInput(
                "it isn't in the log, but later turns of its session are; "
                "turns can only be added at the end",
                f"{where}, turn {place - 1}",
            )
        if difference := _difference(old, turn, dated=dated):
            raise BadInput(
                f"the log already has the turn {turn.key!r} with another {difference}; "
                "what was logged is never changed: import it under another session key",
                f"{where}, turn {place}",
            )
    row = last_turn(db, scope_id, session)
    last = None if row is None else local(row.at, row.zone)
    if not dated and last is not None:  # such times only keep the order
        fresh = [replace(turn, at=max(turn.at, last)) for turn in fresh]
    check_order(fresh, last, where)
    return fresh


def _difference(old: Turn, new: Utterance, *, dated: bool) -> str:
    """The first thing in which a turn differs from the one in the log, or nothing."""
    if old.text != new.text:
        return "text"
    if old.speaker != new.speaker:
        return "speaker"
    if old.role != new.role:
        return "role"
    if old.attachment != new.attachment:
        return "shared picture or file"
    if dated and micros(old.at) != micros(new.at):
        return f"time ({old.at.isoformat()}, not {new.at.isoformat()})"
    return ""


def _move_end(db: sa.Connection, scope_id: int, session: int, fresh: Sequence[Utterance]) -> None:
    """A session that gained turns ended with the last of them."""
    end = micros(fresh[-1].at)
    db.execute(
        t.session.update()
        .where(
            t.session.c.scope == scope_id,
            t.session.c.id == session,
            t.session.c.ended_at < end,
        )
        .values(ended_at=end)
    )


def _add_given(
    db: sa.Connection,
    scope_id: int,
    session: int,
    memories: Sequence[tuple[int, ImportedMemory]],
    where: str,
) -> int:
    """Store ready-made memories, by place, that aren't stored yet; gives how many those were.

    Raises BadInput where they differ.
    """
    if not memories:
        return 0
    query = (
        sa.select(t.given)
        .where(t.given.c.scope == scope_id, t.given.c.session == session)
        .order_by(t.given.c.position)
    )
    known = {row.position: given_of(row) for row in db.execute(query)}
    for place, memory in memories:
        if place in known and known[place].text != memory.text:
            raise BadInput(
                "the store already has another memory in this place; "
                "import it under another session key",
                f"{where}, memory {place}",
            )
    rows = [
        {
            "scope": scope_id,
            "session": session,
            "position": place,
            "text": memory.text,
            "speakers": dumps(memory.speakers),
            "source_keys": dumps(memory.source_keys),
        }
        for place, memory in memories
        if place not in known
    ]
    insert(db, t.given, rows)
    return len(rows)
