"""Our own JSON Lines: one JSON object a line, a turn or a ready-made memory.

A turn::

    {"speaker": "Ana", "text": "I booked the ferry.", "at": "2024-05-08T13:56:00+02:00"}

=========== ===================================================================================
speaker     who says it (must)
text        the words (must; may be empty only beside ``shared``); at most 4 MiB
at          when, ISO 8601 with a UTC offset (must); without an offset only if a zone was named
role        ``user`` for a person (default) or ``agent`` for the assistant
user        whose history it is; default: the file's name without its ending
session     the session's name; lines of one session need not stand together
key         the turn's own id, unique in its session; default: its position there, from 1
shared      what the speaker showed beside the words, such as a picture's description
=========== ===================================================================================

Without ``session`` a new session begins after a pause of more than 30 minutes; it is named after
its first turn's time. Times never go back inside a session. The same key with the same words again
is dropped and counted; with other words it is a fault. Give keys when lines may be added in the
middle later, as positions move.

A memory, taken with ``--memories`` and else left out and counted::

    {"memory": "Ana fears ships.", "session": "storm", "speakers": ["Ana"], "sources": ["3"]}

=========== ===================================================================================
memory      the statement (must)
session     the session that it came from (must)
speakers    who it is about; default: nobody named
sources     keys of turns of that session that support it; default: none
user        as above
at          the session's date, if the file has no turns of it; without one it is put on a made-up
            calendar, a day apart
=========== ===================================================================================

Other fields are counted and passed over. Blank lines do no harm. A list of such objects in one JSON
file is read as well.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, Preview, SessionBuilder, history
from theanine.importers.dates import Calendar, iso_time
from theanine.importers.fields import as_list, as_text, optional_text, text_in
from theanine.importers.timestamps import SYNTHETIC
from theanine.types import History, ImportedMemory, Role, Transcript, Utterance

PAUSE = timedelta(minutes=30)
_LEFT_OUT = "ready-made memories left out (--memories takes them)"
_TURN_FIELDS = frozenset({"user", "session", "speaker", "text", "at", "role", "key", "shared"})
_MEMORY_FIELDS = frozenset({"user", "session", "memory", "speakers", "sources", "at"})


@dataclass(slots=True)
class _Person:
    """One user's sessions so far; ``current`` is the one that lines without a name go on with."""

    notes: Counter[str] = field(default_factory=Counter[str])
    drafts: dict[str, SessionBuilder] = field(default_factory=dict[str, SessionBuilder])
    memory_places: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    dates: dict[str, datetime] = field(default_factory=dict[str, datetime])
    current: SessionBuilder | None = None

    def draft(self, key: str) -> SessionBuilder:
        return self.drafts.setdefault(key, SessionBuilder(key, self.notes))


def _sniff(sample: Preview) -> bool:
    first = sample.first
    return "memory" in first or ("text" in first and ("speaker" in first or "at" in first))


def _read(intake: Intake) -> Iterator[History]:
    people: dict[str, _Person] = {}
    for where, record in intake.records():
        with intake.catching():
            given = text_in(record, "user", where) if record.get("user") is not None else None
            person = people.setdefault(given or intake.own_name, _Person())
            if "memory" in record:
                _take_memory(intake, person, record, where)
            else:
                _take_turn(intake, person, record, where)
    left_out = any(person.notes[_LEFT_OUT] for person in people.values())
    for name, person in people.items():
        transcripts = list(_transcripts(intake, person))
        if transcripts:
            left_out = False
            yield history(name, transcripts, +person.notes)
    if left_out and not intake.faults:
        raise BadInput("it holds only ready-made memories; import it with --memories", intake.name)


def _take_turn(intake: Intake, person: _Person, record: Mapping[str, object], where: str) -> None:
    at = iso_time(text_in(record, "at", where), f"{where}, at", intake.options.zone)
    turn = Utterance(
        text=as_text(record.get("text"), f"{where}, text") if "text" in record else "",
        speaker=sys.intern(text_in(record, "speaker", where)),
        at=at,
        role=_role(record, where),
        key=text_in(record, "key", where) if record.get("key") is not None else None,
        attachment=optional_text(record, "shared", where),
    )
    if "text" not in record and not turn.attachment:
        raise BadInput('the field "text" is missing', where)
    if record.get("session") is not None:
        person.draft(text_in(record, "session", where)).add(turn, where)
    else:
        _follow(person, turn, where)
    _count_unknown(person, record, _TURN_FIELDS)


def _follow(person: _Person, turn: Utterance, where: str) -> None:
    """Adds a turn that names no session to the current one, or after a pause to a new one."""
    draft = person.current
    if draft is None or not draft.turns or turn.at - draft.turns[-1].at > PAUSE:
        draft = person.draft(turn.at.isoformat())
    draft.add(turn, where)
    person.current = draft


def _role(record: Mapping[str, object], where: str) -> Role:
    role = record.get("role", "user")
    if role == "agent":  # the assistant's role before 0.2
        return "assistant"
    if role not in ("user", "assistant"):
        raise BadInput(f'the role {str(role)[:40]!r} is neither "user" nor "assistant"', where)
    return role


def _take_memory(intake: Intake, person: _Person, record: Mapping[str, object], where: str) -> None:
    key = text_in(record, "session", where)
    texts = [
        tuple(
            as_text(item, f"{where}, {name}[{i}]")
            for i, item in enumerate(as_list(record.get(name) or [], f"{where}, {name}"))
        )
        for name in ("speakers", "sources")
    ]
    memory = ImportedMemory(
        text=text_in(record, "memory", where), speakers=texts[0], source_keys=texts[1]
    )
    if record.get("at") is not None:
        at = iso_time(text_in(record, "at", where), f"{where}, at", intake.options.zone)
        person.dates.setdefault(key, at)
    if not intake.options.memories:
        person.notes[_LEFT_OUT] += 1
        return
    person.draft(key).memories.append(memory)
    person.memory_places.setdefault(key, []).append(where)
    _count_unknown(person, record, _MEMORY_FIELDS)


def _count_unknown(person: _Person, record: Mapping[str, object], known: frozenset[str]) -> None:
    for name in record.keys() - known:
        shown = name[:40].encode("utf-8", "replace").decode("utf-8")
        person.notes[f'fields passed over: "{shown}"'] += 1


def _transcripts(intake: Intake, person: _Person) -> Iterator[Transcript]:
    calendar = Calendar(intake.options.start)
    for key, draft in person.drafts.items():
        _check_sources(intake, draft, person.memory_places.get(key, []))
        if draft.turns:
            yield draft.done()
        elif draft and key in person.dates:
            yield draft.done(person.dates[key])
        elif draft:
            with intake.catching():
                person.notes[SYNTHETIC] += not calendar.dated
                at = calendar.place(0, None, f"{intake.name}, session {key}")[0]
                yield draft.done(at, dated=calendar.dated)


def _check_sources(intake: Intake, draft: SessionBuilder, places: list[str]) -> None:
    """Faults memories whose sources are no turns of their session; the others stay."""
    good: list[ImportedMemory] = []
    for memory, where in zip(draft.memories, places, strict=True):
        with intake.catching():
            unknown = [key for key in memory.source_keys if key not in draft.keys]
            if unknown and draft.turns:
                raise BadInput(
                    f'the source "{unknown[0][:40]}" is no turn of session "{draft.key}"; '
                    "give the key of a turn, or its position from 1",
                    where,
                )
            good.append(memory)
    draft.memories[:] = good


FORMAT = Format(
    name="jsonl",
    summary="our JSON Lines: a turn a line (see docs/formats.md)",
    sniff=_sniff,
    read=_read,
    memories=True,
)
