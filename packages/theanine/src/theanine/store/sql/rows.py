"""How things look in the tables, and back: times, lists and whole rows."""

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

_CHUNK = 5_000  # stays under every database's limit of bound values

T = TypeVar("T")


def minutes(at: datetime) -> int:
    """The UTC offset, rounded to whole minutes."""
    return round((at.utcoffset() or timedelta()).total_seconds() / 60)


def local(value: int, zone: int) -> datetime:
    """The aware datetime at an offset of ``zone`` minutes."""
    return moment(value).astimezone(timezone(timedelta(minutes=zone)) if zone else UTC)


def dumps(value: Any) -> str:
    """Compact JSON, readable in every script."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def keepable(text: str) -> str:
    """Foreign text with what no store can keep (NUL, lone surrogates) spelt as JSON escapes."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\u0000")


def chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Runs short enough for one ``IN`` clause."""
    for start in range(0, len(items), _CHUNK):
        yield items[start : start + _CHUNK]


def insert(db: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert any number of rows, none included, in one go."""
    if rows:
        db.execute(table.insert(), rows)


find = sa.select(t.scope.c.id).where(
    t.scope.c.tenant == sa.bindparam("tenant"),
    t.scope.c.agent == sa.bindparam("agent"),
    t.scope.c.user == sa.bindparam("user"),
)
"""Selects a scope's number; its bound values are :func:`scope_names`."""


def erased_since(db: sa.Connection, scope_id: int, epoch: int | None) -> bool:
    """Whether anything of the scope was erased since that ``State.epoch``; None asks nothing."""
    query = sa.select(t.scope.c.epoch).where(t.scope.c.id == scope_id)
    return epoch is not None and db.execute(query).scalar_one() != epoch


def scope_names(scope: Scope) -> dict[str, str]:
    """The columns that name a scope."""
    return {"tenant": scope.tenant, "agent": scope.agent, "user": scope.user}


def find_scope(db: sa.Connection, scope: Scope) -> int | None:
    """The scope's number, or None when nothing was ever written to it."""
    return db.execute(find, scope_names(scope)).scalar_one_or_none()


def ensure_scope(db: sa.Connection, scope: Scope) -> int:
    """The scope's number, created if need be; its row is locked where the database locks rows."""
    found = db.execute(find.with_for_update(), scope_names(scope)).scalar_one_or_none()
    if found is not None:
        return int(found)
    created = db.execute(t.scope.insert().values(scope_names(scope))).inserted_primary_key
    return int(created[0]) if created else 0


def need_session(db: sa.Connection, scope_id: int | None, session: int) -> sa.Row[Any]:
    """The session's row. Raises NotFound."""
    row = None
    if scope_id is not None:
        query = sa.select(t.session).where(t.session.c.scope == scope_id, t.session.c.id == session)
        row = db.execute(query).one_or_none()
    if row is None:
        raise NotFound(f"there is no session {session} here; see the list of sessions")
    return row


def scope_of(row: sa.Row[Any]) -> Scope:
    """A scope from a row that has its three names."""
    return Scope(user=row.user, agent=row.agent, tenant=row.tenant)


def turn_row(scope_id: int, session: int, number: int, said: Utterance) -> dict[str, Any]:
    """The row of a new turn."""
    return {
        "scope": scope_id,
        "id": number,
        "session": session,
        "key": said.key,
        "speaker": said.speaker,
        "role": said.role,
        "at": micros(said.at),
        "zone": minutes(said.at),
        "text": said.text,
        "shared": said.attachment,
        "recalled": dumps(said.recalled),
        "notes": dumps(dict(said.notes)),
    }


def _with_dated(table: sa.Table) -> sa.Select[Any]:
    """Select rows of a table that has sessions, each with ``dated`` of its session."""
    session = t.session.c
    same = sa.and_(session.scope == table.c.scope, session.id == table.c.session)
    return sa.select(table, session.dated).join(t.session, same)


SELECT_TURNS = _with_dated(t.turn)
SELECT_MEMORIES = _with_dated(t.memory)


def turn_of(row: Any) -> Turn:
    """Return a turn from a row of ``SELECT_TURNS``."""
    return Turn(
        id=row.id,
        session=row.session,
        key=row.key,
        speaker=row.speaker,
        role="assistant" if row.role == "agent" else row.role,  # as written before 0.2
        at=local(row.at, row.zone),
        text=row.text,
        attachment=row.shared,
        recalled=tuple(json.loads(row.recalled)) if row.recalled != "[]" else (),
        notes=json.loads(row.notes) if row.notes != "{}" else {},
        dated=bool(row.dated),
    )


def logged(number: int, session: int, said: Utterance) -> Turn:
    """The turn that :func:`turn_row` keeps, as reading it back would give it."""
    return Turn(
        id=number,
        session=session,
        key=said.key,
        speaker=said.speaker,
        role=said.role,
        at=local(micros(said.at), minutes(said.at)),
        text=said.text,
        attachment=said.attachment,
        recalled=tuple(said.recalled),
        notes=dict(said.notes),
    )


def session_of(row: Any) -> Session:
    """A session from its row, with its first turn's zone, its count of turns, and its state."""
    zone = row.zone or 0
    return Session(
        id=row.id,
        key=row.key,
        started_at=local(row.started_at, zone),
        ended_at=None if row.ended_at is None else local(row.ended_at, zone),
        dated=bool(row.dated),
        turn_count=row.turn_count or 0,
        remembered_at=None if row.remembered_at is None else moment(row.remembered_at),
        failure=row.failure,
    )


def given_of(row: Any) -> ImportedMemory:
    """A ready-made memory from its row."""
    return ImportedMemory(
        text=row.text,
        speakers=tuple(json.loads(row.speakers)),
        source_keys=tuple(json.loads(row.source_keys)),
    )


def memory_of(row: Any, sources: Iterable[int], origins: Iterable[int]) -> Memory:
    """A memory from its row, its source turns and the memories that it was made of."""
    return Memory(
        id=row.id,
        session=row.session,
        text=row.text,
        at=local(row.at, row.zone),
        session_ended_at=moment(row.made_at),
        kind=row.kind,
        speakers=tuple(json.loads(row.speakers)),
        source_turns=tuple(sources),
        derived_from=tuple(origins),
        method=row.method,
        made_by=row.made_by,
        prompt=row.prompt,
        dated=bool(row.dated),
    )


def mark_of(row: Any) -> Mark:
    """A mark from its row."""
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


def link_of(row: Any) -> Link:
    """A link from its row."""
    return Link(
        older=row.older,
        newer=row.newer,
        relation=None if row.relation is None else Relation(row.relation),
        explanation=row.explanation,
        similarity=row.similarity,
        made_by=row.made_by,
        prompt=row.prompt,
    )
