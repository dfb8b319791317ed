"""Our own JSON Lines, a turn or a memory a line; docs/formats.md describes them.

Version 0.1 called ``attachment`` ``shared`` and the role ``assistant`` ``agent``; both are read. A
JSON file with a list of such objects is read as well.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from pydantic import AliasChoices, Field

from theanine.errors import BadInput
from theanine.importers.base import Intake, format_named
from theanine.importers.dates import Calendar, iso_time
from theanine.importers.schema import Filled, Item, Object, Text, check, printable
from theanine.importers.sessions import SYNTHETIC, SessionBuilder, history
from theanine.types import History, ImportedMemory, Scalar, Transcript, Utterance

PAUSE = timedelta(minutes=30)
_LEFT_OUT = "memories left out (--memories imports them)"


class _Owned(Item):
    user: Filled | None = None


class _Turn(_Owned):
    speaker: Filled
    text: Text | None = None
    at: Filled
    role: Literal["user", "assistant", "agent"] = "user"
    session: Filled | None = None
    key: Filled | None = None
    metadata: dict[str, Scalar] | None = None
    attachment: Text | None = Field(None, validation_alias=AliasChoices("attachment", "shared"))


class _Memory(_Owned):
    memory: Filled
    session: Filled
    speakers: list[Text] | None = None
    sources: list[Text] | None = None
    at: Filled | None = None


_TURN_FIELDS = frozenset({*_Turn.model_fields, "shared"})
_MEMORY_FIELDS = frozenset(_Memory.model_fields)


@dataclass(slots=True)
class _Person:
    """The sessions read of a user; lines that name no session belong to ``current``.

    ``memories`` and ``dates`` are by session; each memory has its place in the source.
    """

    notes: Counter[str] = field(default_factory=Counter[str])
    sessions: dict[str, SessionBuilder] = field(default_factory=dict[str, SessionBuilder])
    memories: dict[str, list[tuple[ImportedMemory, str]]] = field(
        default_factory=dict[str, list[tuple[ImportedMemory, str]]]
    )
    dates: dict[str, datetime] = field(default_factory=dict[str, datetime])
    current: SessionBuilder | None = None

    def session(self, key: str) -> SessionBuilder:
        if key not in self.sessions:
            self.sessions[key] = SessionBuilder(key, self.notes)
        return self.sessions[key]


def _sniff(intake: Intake) -> bool:
    first = intake.first
    if isinstance(first.get("memory"), str):
        return not {"hash", "user_id", "created_at"} & first.keys()  # which mem0's have
    return "text" in first and ("speaker" in first or "at" in first)


def _read(intake: Intake) -> Iterator[History]:
    people: dict[str, _Person] = {}
    for where, record in intake.records():
        with intake.catching():
            if "memory" in record:
                memory = check(_Memory, record, where)
                person = people.setdefault(memory.user or intake.own_name, _Person())
                _add_memory(intake, person, memory, record, where)
            else:
                turn = check(_Turn, record, where)
                person = people.setdefault(turn.user or intake.own_name, _Person())
                _add_turn(intake, person, turn, record, where)
    left_out = any(person.notes[_LEFT_OUT] for person in people.values())
    for name, person in people.items():
        transcripts = list(_transcripts(intake, person))
        if transcripts:
            left_out = False
            yield history(name, transcripts, person.notes)
    if left_out and not intake.faults:
        raise BadInput("it holds only memories; import it with --memories", intake.name)


def _add_turn(intake: Intake, person: _Person, item: _Turn, record: Object, where: str) -> None:
    if item.text is None and not item.attachment:
        raise BadInput('the field "text" is missing', where)
    at = iso_time(item.at, f"{where}, at", intake.options.zone)
    if item.session is not None:
        session = person.session(item.session)
    else:
        session = person.current
        if session is None or not session.turns or at - session.turns[-1].at > PAUSE:
            session = person.session(at.isoformat())
    turn = Utterance(
        text=item.text or "",
        speaker=sys.intern(item.speaker),
        at=at,
        role="user" if item.role == "user" else "assistant",
        key=item.key or session.next_key(),
        attachment=item.attachment or "",
        metadata=item.metadata or {},
    )
    session.add(turn, where)
    if item.session is None:
        person.current = session
    _count_unknown(person, record, _TURN_FIELDS)


def _add_memory(intake: Intake, person: _Person, item: _Memory, record: Object, where: str) -> None:
    if item.at is not None:
        at = iso_time(item.at, f"{where}, at", intake.options.zone)
        person.dates.setdefault(item.session, at)
    if not intake.options.memories:
        person.notes[_LEFT_OUT] += 1
        return
    memory = ImportedMemory(
        text=item.memory, speakers=tuple(item.speakers or ()), source_keys=tuple(item.sources or ())
    )
    person.session(item.session)
    person.memories.setdefault(item.session, []).append((memory, where))
    _count_unknown(person, record, _MEMORY_FIELDS)


def _count_unknown(person: _Person, record: Object, fields: frozenset[str]) -> None:
    for name in record.keys() - fields:
        person.notes[f'unknown fields ignored: "{printable(name[:40])}"'] += 1


def _transcripts(intake: Intake, person: _Person) -> Iterator[Transcript]:
    calendar = Calendar(intake.options.start)
    for key, session in person.sessions.items():
        for memory, where in person.memories.get(key, ()):
            with intake.catching():
                unknown = [source for source in memory.source_keys if source not in session.keys]
                if unknown and session.turns:
                    raise BadInput(
                        f'the source "{unknown[0][:40]}" is not a turn of session "{key}"; '
                        "give the key of a turn, or its position from 1",
                        where,
                    )
                session.memories.append(memory)
        if session.turns:
            yield session.build()
        elif session and key in person.dates:
            yield session.build(person.dates[key])
        elif session:
            with intake.catching():
                person.notes[SYNTHETIC] += not calendar.dated
                at = calendar.place(0, None, f"{intake.name}, session {key}")[0]
                yield session.build(at, dated=calendar.dated)


FORMAT = format_named("jsonl", _read, _sniff)
