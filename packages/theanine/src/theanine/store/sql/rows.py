"""Shared helpers of the SQL store: converting rows to values and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta, timezone
from typing import Any, TypeVar, TypeVarTuple

import sqlalchemy as sa

from theanine.clock import MAX_OFFSET, find_zone, micros, moment
from theanine.errors import NotFound
from theanine.store.sql import schema as t
from theanine.types import ImportedMemory, Metadata, Scalar, Session, Turn, Utterance

_CHUNK = 5_000  # below every database's limit of bound values

T = TypeVar("T")
Columns = TypeVarTuple("Columns")


# columns


def offset_minutes(at: datetime) -> int:
    """Return the UTC offset, rounded to whole minutes."""
    return round((at.utcoffset() or timedelta()).total_seconds() / 60)


def local_time(value: int, zone: int, time_zone: str | None = None) -> datetime:
    """Return the aware datetime for microseconds since 1970.

    It is in the named time zone or, without one that this machine knows, at a UTC offset in
    minutes. Offsets beyond ``MAX_OFFSET``, which earlier versions stored, are read as that.
    """
    if named := find_zone(time_zone):
        return moment(value).astimezone(named)
    if zone == 0:
        return moment(value)
    most = MAX_OFFSET // timedelta(minutes=1)
    return moment(value).astimezone(timezone(timedelta(minutes=min(max(zone, -most), most))))


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


# sessions


_SELECT_SESSION = (
    sa.select(t.session, t.scope_state.c.time_zone)
    .join(t.scope_state, t.scope_state.c.scope == t.session.c.scope)
    .where(t.session.c.scope == sa.bindparam("scope_id"), t.session.c.id == sa.bindparam("number"))
)


def require_session(db: sa.Connection, scope_id: int, session: int) -> sa.Row[Any]:
    """Return the session's row, with its user's ``time_zone``. Raises NotFound."""
    params = {"scope_id": scope_id, "number": session}
    row = db.execute(_SELECT_SESSION, params).one_or_none()
    if row is None:
        raise NotFound(f"no session {session} for this user; see the list of sessions")
    return row


def numbered(column: sa.Column[int], after: int, upto: int | None) -> sa.ColumnElement[bool]:
    """Select numbers above ``after``, up to ``upto`` (None: all)."""
    return column > after if upto is None else sa.and_(column > after, column <= upto)


def values_of(kind: Any, item: object) -> dict[str, Any]:
    """Return the fields that a dataclass declares, with their values in an object."""
    return {field.name: getattr(item, field.name) for field in fields(kind)}


# rows to values


def session_from_row(row: Any) -> Session:
    """Return a session from its row with ``zone``, ``turn_count`` and its remembering's state."""
    zone = row.zone or 0
    return Session(
        id=row.id,
        key=row.key,
        started_at=local_time(row.started_at, zone, row.time_zone),
        ended_at=None if row.ended_at is None else local_time(row.ended_at, zone, row.time_zone),
        dated=bool(row.dated),
        turn_count=row.turn_count or 0,
        remembered_at=None if row.remembered_at is None else moment(row.remembered_at),
        failure=row.failure,
        set_aside=row.set_aside,
        metadata=read_metadata(row.metadata),
        thread=row.thread,
    )


def _select_with_session(table: sa.Table) -> sa.Select[Any]:
    """Select rows of a table, with ``dated`` of their session (true if that is missing).

    They also have ``time_zone`` of their user.
    """
    session = t.session.c
    same = sa.and_(session.scope == table.c.scope, session.id == table.c.session)
    dated = sa.func.coalesce(session.dated, sa.true()).label("dated")
    # The content of messages can be large: it is read where it is asked for.
    columns = (column for column in table.c if column is not t.turn.c.content)
    query = sa.select(*columns, dated, t.scope_state.c.time_zone).outerjoin(t.session, same)
    return query.join(t.scope_state, t.scope_state.c.scope == table.c.scope)


SELECT_TURNS = _select_with_session(t.turn).add_columns(
    t.session.c.metadata.label("session_metadata")
)
SELECT_MEMORIES = _select_with_session(t.memory)


def read_metadata(*columns: str | None) -> Metadata:
    """Return the metadata of some columns in one mapping, where later ones win."""
    values: dict[str, Scalar] = {}
    for column in columns:
        if column and column != "{}":
            values |= json.loads(column)
    return values


def turn_from_row(row: Any) -> Turn:
    """Return a turn from a row of ``SELECT_TURNS``."""
    return Turn(
        id=row.id,
        session=row.session,
        key=row.key,
        speaker=row.speaker,
        role=row.role,
        at=local_time(row.at, row.zone, row.time_zone),
        text=row.text,
        attachment=row.shared,
        recalled=tuple(json.loads(row.recalled)) if row.recalled != "[]" else (),
        notes=json.loads(row.notes) if row.notes != "{}" else {},
        metadata=read_metadata(row.session_metadata, row.metadata),
        dated=bool(row.dated),
    )


def number_turn(
    utterance: Utterance,
    session: int,
    number: int,
    of_session: Metadata,
    time_zone: str | None,
) -> Turn:
    """Return the utterance as a turn, equal to what :func:`turn_from_row` will read.

    ``of_session`` is the session's metadata, ``time_zone`` the user's.
    """
    values: dict[str, Any] = {
        **values_of(Utterance, utterance),
        "at": local_time(micros(utterance.at), offset_minutes(utterance.at), time_zone),
        "recalled": tuple(utterance.recalled),
        "notes": dict(utterance.notes),
        "metadata": {**of_session, **utterance.metadata},
    }
    return Turn(id=number, session=session, **values)


def imported_memory_from_row(row: Any) -> ImportedMemory:
    """Return an imported memory from its row in ``given``."""
    return ImportedMemory(
        text=row.text,
        speakers=tuple(json.loads(row.speakers)),
        source_keys=tuple(json.loads(row.source_keys)),
    )
