"""The log of transcripts: whole sessions that have ended, such as those of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from theanine.clock import micros
from theanine.errors import BadInput
from theanine.store.sql import schema as t
from theanine.store.sql.remembering import mark_pending
from theanine.store.sql.rows import dumps, imported_memory_from_row, insert_rows, local_time
from theanine.store.sql.scopes import ensure_scope
from theanine.store.sql.tombstones import Tombstones
from theanine.store.sql.turns import (
    check_order,
    check_same_metadata,
    find_session,
    insert_session,
    insert_turns,
    is_session,
    load_keyed_turns,
    load_last_turn,
)
from theanine.store.validate import check_scope, storable_transcript
from theanine.store.values import Logged
from theanine.types import ImportedMemory, Scope, Transcript, Turn, Utterance


def log_transcript(db: sa.Connection, scope: Scope, transcript: Transcript, method: str) -> Logged:
    """Log the part of a transcript that is new, which can only be its end."""
    check_scope(scope)
    transcript = storable_transcript(transcript)
    scope_id = ensure_scope(db, scope)
    where = f"session {transcript.key!r}"
    turns = [  # a turn without a key gets one by its position, so that the next import matches it
        turn if turn.key is not None else replace(turn, key=f"#{position}")
        for position, turn in enumerate(transcript.turns, 1)
    ]
    imported = dict(enumerate(transcript.memories, 1))
    row = find_session(db, scope_id, transcript.key)
    if row is None:
        check_order(turns, None, where)
        start, end = (turns[0].at, turns[-1].at) if turns else (transcript.at, transcript.at)
        session = insert_session(
            db,
            scope_id,
            transcript.key,
            start,
            ended_at=end,
            dated=transcript.dated,
            metadata=transcript.metadata,
        )
        new: Sequence[Utterance] = turns
    else:
        if row.ended_at is None:
            raise BadInput("the session is still open; end it first", where)
        if not transcript.revised:
            check_same_metadata(row, transcript.metadata)
        session = int(row.id)
        tombstones = Tombstones.of_session(db, scope_id, session)
        turns = [turn for turn in turns if not tombstones.has_turn(turn.key or "")]
        imported = {
            position: memory
            for position, memory in imported.items()
            if not tombstones.has_memory(memory.text)
        }
        new = _select_new_turns(db, row, turns, where, revised=transcript.revised)
    insert_turns(db, scope_id, session, new, transcript.metadata)
    new_memories = _insert_imported(db, scope_id, session, imported, where)
    if row is not None and new:
        end = micros(new[-1].at)
        later = (*is_session(row), t.session.c.ended_at < end)
        db.execute(t.session.update().where(*later).values(ended_at=end))
    if row is None or new or new_memories:
        mark_pending(db, scope_id, session, method)
    total = len(transcript.turns) + len(transcript.memories)
    return Logged(
        session=session,
        new_turns=len(new),
        new_memories=new_memories,
        new=row is None,
        forgotten=total - len(turns) - len(imported),
    )


def log_transcripts(
    db: sa.Connection, scope: Scope, transcripts: Sequence[Transcript], method: str
) -> list[Logged]:
    """Log several transcripts."""
    return [log_transcript(db, scope, transcript, method) for transcript in transcripts]


def _select_new_turns(
    db: sa.Connection,
    session: sa.Row[Any],
    turns: Sequence[Utterance],
    where: str,
    *,
    revised: bool,
) -> list[Utterance]:
    """Return the turns after all logged ones; of a revised source, all that aren't logged.

    Raises BadInput if a logged turn differs, or if a new turn comes before a logged one, unless
    the source is revised.
    """
    dated = bool(session.dated)
    keys = [turn.key for turn in turns if turn.key is not None]
    logged = load_keyed_turns(db, session.scope, session.id, keys)
    new: list[Utterance] = []
    for position, turn in enumerate(turns, 1):
        old = logged.get(turn.key or "")
        if old is None:
            new.append(turn)
            continue
        if revised:
            continue
        if new:
            raise BadInput(
                "the turn is not in the log, but later turns of its session are; "
                "turns can only be added at the end",
                f"{where}, turn {position - 1}",
            )
        if difference := _describe_difference(old, turn, dated=dated):
            raise BadInput(
                f"the log already has turn {turn.key!r} with another {difference}; logged turns "
                "never change: import it under another session key",
                f"{where}, turn {position}",
            )
    row = load_last_turn(db, session.scope, session.id)
    last = None if row is None else local_time(row.at, row.zone)
    if (revised or not dated) and last is not None:  # undated times only keep the order
        new = [replace(turn, at=max(turn.at, last)) for turn in new]
    check_order(new, last, where)
    return new


def _describe_difference(old: Turn, new: Utterance, *, dated: bool) -> str:
    """Name the first field in which a turn differs from the logged one; empty if none does."""
    for name in ("text", "speaker", "role", "attachment"):
        if getattr(old, name) != getattr(new, name):
            return name
    if dated and micros(old.at) != micros(new.at):
        return f"time ({old.at.isoformat()}, not {new.at.isoformat()})"
    return ""


def _insert_imported(
    db: sa.Connection, scope_id: int, session: int, memories: dict[int, ImportedMemory], where: str
) -> int:
    """Insert imported memories whose position is new, and return how many there were.

    Raises BadInput for a position that has another text.
    """
    if not memories:
        return 0
    query = sa.select(t.given).where(t.given.c.scope == scope_id, t.given.c.session == session)
    stored = {row.position: imported_memory_from_row(row) for row in db.execute(query)}
    for position, memory in memories.items():
        if position in stored and stored[position].text != memory.text:
            raise BadInput(
                "the store has another memory at this position; "
                "import it under another session key",
                f"{where}, memory {position}",
            )
    rows = [
        {
            "scope": scope_id,
            "session": session,
            "position": position,
            "text": memory.text,
            "speakers": dumps(memory.speakers),
            "source_keys": dumps(memory.source_keys),
        }
        for position, memory in memories.items()
        if position not in stored
    ]
    insert_rows(db, t.given, rows)
    return len(rows)
