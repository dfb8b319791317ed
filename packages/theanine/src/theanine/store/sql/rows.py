"""Shared helpers of the SQL store: scopes and counters, and converting rows to values and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, TypeVar

import sqlalchemy as sa

from theanine.clock import micros, moment
from theanine.errors import NotFound
from theanine.store.sql import schema as t
from theanine.types import (
    ImportedMemory,
    Link,
    Mark,
    Memory,
    Relation,
    Scope,
    Session,
    Turn,
    Utterance,
)

_CHUNK = 5_000  # below every database's limit of bound values

T = TypeVar("T")


# columns


def offset_minutes(at: datetime) -> int:
    """Return the UTC offset, rounded to whole minutes."""
    return round((at.utcoffset() or timedelta()).total_seconds() / 60)


def local_time(value: int, zone: int) -> datetime:
    """Return the aware datetime for microseconds since 1970 at a UTC offset in minutes."""
    return moment(value).astimezone(timezone(timedelta(minutes=zone)) if zone else UTC)


def dumps(value: Any) -> str:
    """Return compact JSON, not limited to ASCII."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def escape_unstorable(text: str) -> str:
    """Return text with NUL and lone surrogates, which can't be stored, as JSON escapes."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\u0000")


def chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Split items into runs short enough for one ``IN`` clause."""
    for start in range(0, len(items), _CHUNK):
        yield items[start : start + _CHUNK]


def insert_rows(db: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert any number of rows, including none, in one statement."""
    if rows:
        db.execute(table.insert(), rows)


# scopes and sessions


SELECT_SCOPE_ID = sa.select(t.scope.c.id).where(
    t.scope.c.tenant == sa.bindparam("tenant"),
    t.scope.c.agent == sa.bindparam("agent"),
    t.scope.c.user == sa.bindparam("user"),
)
"""Selects a scope's number; its parameters are :func:`scope_params`."""


def scope_params(scope: Scope) -> dict[str, str]:
    """Return the columns that identify a scope."""
    return {"tenant": scope.tenant, "agent": scope.agent, "user": scope.user}


def find_scope(db: sa.Connection, scope: Scope) -> int | None:
    """Return the scope's number; None when nothing was ever written to it."""
    return db.execute(SELECT_SCOPE_ID, scope_params(scope)).scalar_one_or_none()


def ensure_scope(db: sa.Connection, scope: Scope) -> int:
    """Return the scope's number, creating it if need be; locks its row where rows are locked."""
    number = db.execute(SELECT_SCOPE_ID.with_for_update(), scope_params(scope)).scalar()
    if number is None:
        created = db.execute(t.scope.insert().values(scope_params(scope))).inserted_primary_key
        number = created[0] if created else 0
    return int(number)


def select_scope_ids(db: sa.Connection, scope: Scope | None) -> list[int]:
    """Return the number of one scope (none if it is unknown), or those of all scopes."""
    if scope is None:
        return list(db.execute(sa.select(t.scope.c.id).order_by(t.scope.c.id)).scalars())
    number = find_scope(db, scope)
    return [] if number is None else [number]


def erased_since(db: sa.Connection, scope_id: int, epoch: int | None) -> bool:
    """Return whether anything was erased since ``ScopeVersion.epoch``; False for None."""
    query = sa.select(t.scope.c.epoch).where(t.scope.c.id == scope_id)
    return epoch is not None and db.execute(query).scalar_one() != epoch


def invalidate_scope(db: sa.Connection, scope_id: int) -> None:
    """Start a new epoch, which makes every cache stale, and revoke the lease."""
    db.execute(
        t.scope.update()
        .where(t.scope.c.id == scope_id)
        .values(epoch=t.scope.c.epoch + 1, lease_holder=None, lease_until=None)
    )


def take_numbers(db: sa.Connection, scope_id: int, counter: str, count: int) -> int:
    """Advance one of the scope's counters by ``count`` and return the first number."""
    column = t.scope.c[counter]
    first = db.execute(
        sa.select(column).where(t.scope.c.id == scope_id).with_for_update()
    ).scalar_one()
    db.execute(t.scope.update().where(t.scope.c.id == scope_id).values({counter: first + count}))
    return int(first)


def require_session(db: sa.Connection, scope_id: int | None, session: int) -> sa.Row[Any]:
    """Return the session's row. Raises NotFound."""
    row = None
    if scope_id is not None:
        query = sa.select(t.session).where(t.session.c.scope == scope_id, t.session.c.id == session)
        row = db.execute(query).one_or_none()
    if row is None:
        raise NotFound(f"no session {session} for this user; see the list of sessions")
    return row


# rows to values


def scope_from_row(row: sa.Row[Any]) -> Scope:
    """Return the scope of a row with its three names."""
    return Scope(user=row.user, agent=row.agent, tenant=row.tenant)


def session_from_row(row: Any) -> Session:
    """Return a session from its row with ``zone``, ``turn_count`` and its remembering's state."""
    zone = row.zone or 0
    return Session(
        id=row.id,
        key=row.key,
        started_at=local_time(row.started_at, zone),
        ended_at=None if row.ended_at is None else local_time(row.ended_at, zone),
        dated=bool(row.dated),
        turn_count=row.turn_count or 0,
        remembered_at=None if row.remembered_at is None else moment(row.remembered_at),
        failure=row.failure,
    )


def _select_with_dated(table: sa.Table) -> sa.Select[Any]:
    """Select rows of a table, each with ``dated`` of its session (true if that is missing)."""
    session = t.session.c
    same = sa.and_(session.scope == table.c.scope, session.id == table.c.session)
    dated = sa.func.coalesce(session.dated, sa.true()).label("dated")
    return sa.select(table, dated).outerjoin(t.session, same)


SELECT_TURNS = _select_with_dated(t.turn)
SELECT_MEMORIES = _select_with_dated(t.memory)


def turn_from_row(row: Any) -> Turn:
    """Return a turn from a row of ``SELECT_TURNS``."""
    return Turn(
        id=row.id,
        session=row.session,
        key=row.key,
        speaker=row.speaker,
        role=row.role,
        at=local_time(row.at, row.zone),
        text=row.text,
        attachment=row.shared,
        recalled=tuple(json.loads(row.recalled)) if row.recalled != "[]" else (),
        notes=json.loads(row.notes) if row.notes != "{}" else {},
        dated=bool(row.dated),
    )


def number_turn(utterance: Utterance, session: int, number: int) -> Turn:
    """Return the utterance as a turn, equal to what :func:`turn_from_row` will read."""
    return Turn(
        id=number,
        session=session,
        key=utterance.key,
        speaker=utterance.speaker,
        role=utterance.role,
        at=local_time(micros(utterance.at), offset_minutes(utterance.at)),
        text=utterance.text,
        attachment=utterance.attachment,
        recalled=tuple(utterance.recalled),
        notes=dict(utterance.notes),
    )


def turn_row(scope_id: int, turn: Turn) -> dict[str, Any]:
    """Return the row of a turn."""
    return {
        "scope": scope_id,
        "id": turn.id,
        "session": turn.session,
        "key": turn.key,
        "speaker": turn.speaker,
        "role": turn.role,
        "at": micros(turn.at),
        "zone": offset_minutes(turn.at),
        "text": turn.text,
        "shared": turn.attachment,
        "recalled": dumps(turn.recalled),
        "notes": dumps(turn.notes),
    }


def imported_memory_from_row(row: Any) -> ImportedMemory:
    """Return an imported memory from its row in ``given``."""
    return ImportedMemory(
        text=row.text,
        speakers=tuple(json.loads(row.speakers)),
        source_keys=tuple(json.loads(row.source_keys)),
    )


def memory_from_row(row: Any, source_turns: Iterable[int], derived_from: Iterable[int]) -> Memory:
    """Return a memory from a row of ``SELECT_MEMORIES``."""
    return Memory(
        id=row.id,
        session=row.session,
        text=row.text,
        at=local_time(row.at, row.zone),
        session_ended_at=moment(row.made_at),
        kind=row.kind,
        speakers=tuple(json.loads(row.speakers)),
        source_turns=tuple(source_turns),
        derived_from=tuple(derived_from),
        method=row.method,
        made_by=row.made_by,
        prompt=row.prompt,
        dated=bool(row.dated),
    )


def mark_from_row(row: Any) -> Mark:
    """Return a mark from its row."""
    return Mark(
        id=row.id,
        memory=row.memory,
        kind=row.kind,
        by=row.by,
        session=row.session,
        reason=row.reason,
        method=row.method,
        made_by=row.made_by,
        prompt=row.prompt,
    )


def link_from_row(row: Any) -> Link:
    """Return a link from its row."""
    return Link(
        older=row.older,
        newer=row.newer,
        relation=None if row.relation is None else Relation(row.relation),
        explanation=row.explanation,
        similarity=row.similarity,
        made_by=row.made_by,
        prompt=row.prompt,
    )
