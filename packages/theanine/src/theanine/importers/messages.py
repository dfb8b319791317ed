"""Message lists of language models: OpenAI's and Anthropic's ``{"role", "content"}``.

A JSON list or JSON Lines of messages is one session; of objects with ``messages`` (also ``input``
or ``conversation``), such as the files of OpenAI's fine-tuning, each is a session. The parts of a
message are read by :mod:`theanine.messages`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from theanine.errors import BadInput
from theanine.importers.base import Intake, format_named
from theanine.importers.schema import Object, objects_in
from theanine.importers.table import (
    ROLES,
    SYSTEM,
    Entry,
    Layout,
    finish,
    layout_named,
    name_of,
    read_talks,
    role_in,
    share_files,
)
from theanine.importers.words import Words, strings
from theanine.messages.read import message_parts
from theanine.types import History

_LISTS = ("messages", "input", "conversation")
LAYOUT = layout_named("messages")


def _sniff(intake: Intake) -> bool:
    first = intake.first
    return _is_message(first) or any(_is_conversation(first, field) for field in _LISTS)


def _is_message(record: Mapping[str, object]) -> bool:
    role = record.get("role")
    has_role = isinstance(role, str) and role.lower() in ROLES
    return has_role and ("content" in record or "parts" in record)


def _is_conversation(record: Mapping[str, object], field: str) -> bool:
    return any(_is_message(item) for item in objects_in(record.get(field))[:8])


def _read(intake: Intake) -> Iterator[History]:
    return read_talks(intake, LAYOUT, _message, intake.user_name(intake.own_name))


def _message(intake: Intake, layout: Layout, record: Object, where: str) -> Sequence[Entry]:
    role, named = role_in(layout, record)
    if role in ("system", "tool"):
        intake.notes[SYSTEM] += 1
        return ()
    words = Words(intake.notes)
    content = record.get("content", record.get("parts"))
    try:
        message = {**record, "role": role or "user", "content": content}
        words.add([part for _, part in message_parts(message, where)])
    except BadInput:
        words.add(content)
    share_files(words, record)
    calls = [record.get("tool_calls"), record.get("function_call")]
    words.passed += (text for _, text in strings(calls))
    entry = Entry(where, role, name_of(record.get("name")) or named)
    return finish(intake, record, words, entry, layout)


FORMAT = format_named("messages", _read, _sniff)
