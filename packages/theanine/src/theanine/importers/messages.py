"""Message lists of language models: OpenAI's and Anthropic's ``{"role", "content"}``.

A JSON list or JSON Lines of messages is one session. A list or JSON Lines of objects with
``messages`` (also ``input`` or ``conversation``), such as the files of OpenAI's fine-tuning, has
one session an object, named by its ``id``, ``conversation_id``, ``session_id`` or ``custom_id``.
A message may also have an ``id``, a ``name``, and a time (``created_at``, ``timestamp``, ``time``
or ``date``, as ISO 8601 or seconds or milliseconds since 1970); without times it is undated.
The parts of a message are read by :mod:`theanine.messages`; messages of the system and of tools
are left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, SessionBuilder
from theanine.importers.content import describe_parts
from theanine.importers.dates import Calendar, epoch_time, iso_time
from theanine.importers.schema import Object, as_object, check, require_storable
from theanine.importers.timestamps import SYNTHETIC
from theanine.messages.read import ROLES, message_parts
from theanine.types import History, Role, Utterance

_LISTS = ("messages", "input", "conversation")
_IDS = ("id", "conversation_id", "session_id", "custom_id")
_TIMES = ("created_at", "timestamp", "time", "date", "create_time")
_ROLES: Mapping[str, Role] = {**ROLES, "human": "user", "model": "assistant"}


@dataclass(frozen=True, slots=True)
class _Message:
    """A message whose time may be unknown."""

    role: Role
    speaker: str
    text: str
    attachment: str
    key: str | None
    at: datetime | None
    where: str


def _sniff(intake: Intake) -> bool:
    first = intake.first
    return _is_message(first) or any(_is_conversation(first, field) for field in _LISTS)


def _is_message(record: Mapping[str, object]) -> bool:
    has_role = isinstance(record.get("role"), str) and record["role"] in _ROLES
    return has_role and ("content" in record or "parts" in record)


def _is_conversation(record: Mapping[str, object], field: str) -> bool:
    items = record.get(field)
    if not isinstance(items, list) or not items:
        return False
    first = cast("list[object]", items)[0]
    return isinstance(first, dict) and _is_message(cast("Object", first))


def _read(intake: Intake) -> Iterator[History]:
    calendar = Calendar(intake.options.start)
    name = intake.user_name(intake.own_name)
    loose: list[tuple[str, Object]] = []
    number = 0
    for where, record in intake.records():
        field = next((field for field in _LISTS if isinstance(record.get(field), list)), None)
        if field is None or "role" in record:
            loose.append((where, record))
            continue
        with intake.catching():
            number += 1
            key = next(
                (str(record[id]) for id in _IDS if record.get(id)), f"{intake.stem}/{number}"
            )
            at_list = f"{where}.{field}"
            items = enumerate(check(list[object], record[field], at_list))
            messages = ((f"{at_list}[{i}]", as_object(item, at_list)) for i, item in items)
            yield from _session(intake, require_storable(key, where), messages, calendar)
    if loose:
        yield from _session(intake, intake.stem, loose, calendar)
    yield intake.part(name)


def _session(
    intake: Intake,
    key: str,
    records: Iterator[tuple[str, Object]] | Sequence[tuple[str, Object]],
    calendar: Calendar,
) -> Iterator[History]:
    messages: list[_Message] = []
    for where, record in records:
        with intake.catching():
            messages += _message(intake, record, where)
    if not messages:
        return
    session = SessionBuilder(key, intake.notes)
    dated = all(message.at for message in messages)
    if dated:
        times = [message.at for message in messages]
    else:
        intake.notes[SYNTHETIC] += not calendar.dated
        times = calendar.place(len(messages), None, messages[0].where)
    for message, at in zip(messages, times, strict=True):
        with intake.catching():
            turn = Utterance(
                text=message.text,
                speaker=message.speaker,
                at=cast("datetime", at),
                role=message.role,
                key=message.key,
                attachment=message.attachment,
            )
            session.append(turn, message.where)
    if session:
        yield intake.part(
            intake.user_name(intake.own_name), session.build(dated=dated or calendar.dated)
        )


def _message(intake: Intake, record: Object, where: str) -> Iterator[_Message]:
    named = check(str, record.get("role"), f"{where}.role")
    if named not in _ROLES:
        raise BadInput(f'unknown role "{named[:40]}"; use user or assistant', where)
    role = _ROLES[named]
    if role not in ("user", "assistant"):
        intake.notes["system and tool messages left out"] += 1
        return
    message = {**record, "role": role, "content": record.get("content", record.get("parts"))}
    parts = (part for _, part in message_parts(message, where))
    text, attachment = describe_parts(parts, where, intake.notes)
    if not text.strip() and not attachment:
        intake.notes["empty messages left out"] += 1
        return
    name, id = record.get("name"), record.get("id")
    yield _Message(
        role=role,
        speaker=require_storable(name, where)
        if isinstance(name, str) and name.strip()
        else intake.speaker_of(role),
        text=text,
        attachment=attachment,
        key=require_storable(str(id), where) if id else None,
        at=_time(intake, record, where),
        where=where,
    )


def _time(intake: Intake, record: Object, where: str) -> datetime | None:
    value = next((record[field] for field in _TIMES if record.get(field) is not None), None)
    if value is None:
        return None
    if isinstance(value, str):
        return iso_time(value, where, intake.options.local)
    if isinstance(value, int | float) and abs(value) > 1e11:
        value = value / 1000
    return epoch_time(value, where)


FORMAT = Format(name="messages", sniff=_sniff, read=_read)
