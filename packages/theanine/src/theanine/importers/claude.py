"""The export of Claude.ai: the zip archive, or ``conversations.json`` or ``projects.json`` from it.

``[{"uuid", "name", "created_at", "chat_messages": [{"uuid", "sender": "human" or "assistant",
"created_at", "text", "content": [{"type", "text"}], "attachments": [{"file_name",
"extracted_content"}], "files": [{"file_name"}], "parent_message_uuid"?}]}]``. A message's words are
its ``content``'s, or ``text`` where that has none. ``memories.json`` is read by
:mod:`theanine.importers.other_memories`.

Sources: basicmachines-co/basic-memory
``src/basic_memory/importers/claude_conversations_importer.py``, Sinity/polylogue
``docs/providers/claude-ai.md``. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from theanine.importers.base import Entry, Intake, format_named
from theanine.importers.dates import Calendar
from theanine.importers.json_stream import ITEMS, select
from theanine.importers.schema import Object, is_object, objects_in, require_storable
from theanine.importers.table import (
    NO_TEXT,
    Layout,
    Talk,
    finish,
    first_of,
    key_of,
    layout_named,
    name_of,
    read_talks,
    role_in,
    time_at,
)
from theanine.importers.words import Words, said_in, storable
from theanine.types import History

_PASTED = re.compile(r"paste[\w ()-]*\.txt", re.IGNORECASE)
"""Names that Claude.ai gives to a long text that is pasted into a message."""

LAYOUT = layout_named("claude")


def _read(intake: Intake) -> Iterator[History]:
    owner = account_name(intake)
    if not any("chat_messages" in each for each in intake.ahead or [intake.first]):
        yield from _projects(intake, owner)
        return

    def read(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
        return _message(intake, layout, message, where, owner)

    yield from read_talks(intake, LAYOUT, read, intake.user_name(owner))


def account_name(intake: Intake) -> str:
    """Return the name of the user: the caller's, else the one in the archive's ``users.json``.

    Empty if neither is there. Raises BadInput for a file that can't be read.
    """
    if intake.options.speaker or intake.folder is None:
        return intake.options.speaker or ""
    for name in intake.folder.select("users.json"):
        with intake.folder.open(name) as source:
            for _, user in select(source.stream(), name, ITEMS):
                full_name = user.get("full_name") if is_object(user) else None
                if isinstance(full_name, str) and full_name.strip():
                    return require_storable(full_name.strip(), name)
    return ""


def _message(
    intake: Intake, layout: Layout, message: Object, where: str, owner: str
) -> Sequence[Entry]:
    role, named = role_in(layout, message)
    words = Words(intake.notes)
    content = message.get("content")
    blocks = [each for each in objects_in(content) if each.get("type", "text") == "text"]
    if not any(str(each.get("text") or "").strip() for each in blocks):
        words.add(message.get("text"))
    words.add(content)
    for file in [*objects_in(message.get("attachments")), *objects_in(message.get("files"))]:
        name = name_of(first_of(file, ("file_name", "name")))
        text = file.get("extracted_content")
        has_text = isinstance(text, str) and text.strip()
        if has_text and (not name or _PASTED.fullmatch(name)):
            words.texts.append(str(text))
        elif name:
            words.shared.append(f'the file "{name}"')
            if has_text:
                words.documents.append((name, storable(str(text))))
    name = owner if role == "user" else "" if role else named
    return finish(intake, message, words, Entry(where, role, name), layout)


def _projects(intake: Intake, owner: str) -> Iterator[History]:
    """Read ``projects.json``."""
    name = intake.user_name(owner)
    calendar = Calendar(intake.options.start)
    for number, (where, record) in enumerate(intake.records(), 1):
        with intake.catching():
            at = time_at(intake, record, LAYOUT.time, where) or intake.source.modified
            mine = (record.get("description"), record.get("prompt_template"))
            entries = [
                Entry(where, "user", owner, storable(text))
                for text in mine
                if isinstance(text, str) and text.strip()
            ]
            entries += [_document(intake, doc, where) for doc in objects_in(record.get("docs"))]
            entries = [each for each in entries if each.text.strip()]
            intake.notes[NO_TEXT] += not entries
            talk = Talk(intake, LAYOUT, record, f"{intake.stem}/{number}", where, calendar)
            yield from talk.finish(entries, name, at)


def _document(intake: Intake, doc: Object, where: str) -> Entry:
    name = name_of(first_of(doc, ("filename", "file_name", "name"))) or "document"
    at = time_at(intake, doc, LAYOUT.time, where)
    text = "\n".join(said_in(doc, ("filename", "file_name", "name", "uuid")))
    return Entry(where, "tool", name, storable(text), key=key_of(doc.get("uuid")), at=at)


FORMAT = format_named("claude", _read)
