"""Formats that are rows of :mod:`theanine.importers.table`.

What a row of ``formats.toml`` can't say is a few lines of Python here. None of these has seen a
real export; the layouts are as published loaders of each service read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, format_named
from theanine.importers.html_text import html_to_text
from theanine.importers.schema import Object, is_object, objects_in
from theanine.importers.table import (
    HIDDEN,
    ROLES,
    SYSTEM,
    Entry,
    Layout,
    Reader,
    finish,
    layout_named,
    name_of,
    read_entry,
    read_talks,
    role_in,
    share_files,
    without,
)
from theanine.importers.web_pages import is_messenger_page, messenger_talk
from theanine.importers.words import Words, note_unread, strings
from theanine.messages.read import message_parts
from theanine.types import History

CALLS = "service messages left out"


def _row(
    name: str,
    read_message: Reader = read_entry,
    is_page: Callable[[Intake], bool] | None = None,
    read_page: Callable[[Intake], Object] = lambda intake: {},
) -> Format:
    """Return a format whose row says all; some are also web pages, which are told and read so."""
    layout = layout_named(name)

    def read(intake: Intake) -> Iterator[History]:
        page = [(intake.name, read_page(intake))] if intake.kind == "text" else None
        return read_talks(intake, layout, read_message, records=page)

    return format_named(name, read, is_page)


def _version(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read the version of a message that LM Studio shows."""
    versions = objects_in(message.get("versions"))
    chosen = message.get("currentlySelected")
    if not versions:
        return read_entry(intake, layout, message, where)
    note_unread(intake.notes, without(message, "versions"), ())
    number = chosen if isinstance(chosen, int) and 0 <= chosen < len(versions) else -1
    intake.notes["other answers left out"] += len(versions) - 1
    return read_entry(intake, layout, versions[number], where)


def _tavern(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    if message.get("is_system") is True:
        intake.notes[HIDDEN] += 1
        return ()
    return read_entry(intake, layout, message, where)


def _character(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read a message of Character.AI, of whose answers the primary one is read."""
    candidates = objects_in(message.get("candidates"))
    primary = message.get("primary_candidate_id")
    chosen = next((c for c in candidates if c.get("candidate_id") == primary), None)
    chosen = chosen or next(iter(candidates), dict[str, object]())
    author = message.get("author") or message.get("src")
    ours = author.get("is_human") if is_object(author) else message.get("is_human")
    rest = {key: value for key, value in message.items() if key != "candidates"}
    intake.notes["other answers left out"] += max(len(candidates) - 1, 0)
    return read_entry(intake, layout, {**chosen, **rest, "is_human": bool(ours)}, where)


def _skype(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    """Read a message of Skype or Teams, whose words are HTML."""
    kind = str(message.get("messagetype") or "Text")
    if kind.startswith(("ThreadActivity", "Event")):
        intake.notes[CALLS] += 1
        return ()
    content = message.get("content")
    if isinstance(content, str):
        message = {**message, "content": html_to_text(content)}
    sender = str(message.get("from") or "")
    name = message.get("displayName") or message.get("imdisplayname") or sender.partition(":")[2]
    return read_entry(intake, layout, {**message, "displayName": name}, where)


# Message lists of language models: OpenAI's and Anthropic's {"role", "content"}, alone or below
# "messages", "input" or "conversation", as in files for fine-tuning. Their parts are read by
# theanine.messages.

_MESSAGES = layout_named("messages")


def _holds_messages(intake: Intake) -> bool:
    first = intake.first
    return _is_message(first) or any(_is_conversation(first, field) for field in _MESSAGES.messages)


def _is_message(record: Mapping[str, object]) -> bool:
    role = record.get("role")
    has_role = isinstance(role, str) and role.lower() in ROLES
    return has_role and ("content" in record or "parts" in record)


def _is_conversation(record: Mapping[str, object], field: str) -> bool:
    return any(_is_message(item) for item in objects_in(record.get(field))[:8])


def _read_messages(intake: Intake) -> Iterator[History]:
    return read_talks(intake, _MESSAGES, _message, intake.user_name(intake.own_name))


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


MESSAGES = format_named("messages", _read_messages, _holds_messages)
FORMATS = (
    *map(_row, ("deepseek", "grok", "open-webui", "librechat")),
    _row("lmstudio", _version),
    *map(_row, ("jan", "google-chat")),
    _row("messenger", is_page=is_messenger_page, read_page=messenger_talk),
    _row("character-ai", _character),
    _row("sillytavern", _tavern),
    _row("skype", _skype),
    *map(_row, ("typingmind", "chatbot-ui", "mistral")),
)
