"""ChatGPT's export: the zip archive, ``conversations.json`` from it, or its parts since 2026.

A list of conversations, each a tree of messages::

    [{"id", "title", "create_time", "current_node", "mapping": {node: {"parent", "message":
      {"author": {"role"}, "create_time", "content": {"content_type", "parts"}, "metadata"}}}}]

What was said aloud is in parts of the type ``audio_transcription``, a canvas in a message to
``canmore``, the report of a deep research in ``metadata.chatgpt_sdk.widget_state``.

Sources: skillsynchq/txcript ``docs/formats/chatgpt.md`` and mitkury/chatgpt-export-parser
``docs/chatgpt-data-export-format.md``. Exports of version 0.1 were real, voice and splits are as
published loaders show them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import cast

from theanine.importers.base import Intake, format_named
from theanine.importers.markup import without_citations
from theanine.importers.schema import Object, get, is_object, objects_in
from theanine.importers.table import (
    EMPTY,
    HIDDEN,
    SYSTEM,
    Entry,
    Layout,
    finish,
    layout_named,
    read_talks,
    role_in,
)
from theanine.importers.web_pages import chatgpt_conversations, is_chatgpt_page
from theanine.importers.words import THOUGHTS, Words, file_named, strings
from theanine.types import History, Role

TO_TOOLS = "messages to tools left out"
_AUDIO = ("audio_asset_pointer", "real_time_user_audio_video_asset_pointer")
_THINKING = ("thoughts", "reasoning_recap")
_CANVAS = ("canmore", "canvas", "textdoc")

LAYOUT = layout_named("chatgpt")


def _message(intake: Intake, layout: Layout, message: Object, where: str) -> Sequence[Entry]:
    role = role_in(layout, message)[0]
    metadata, notes = message.get("metadata"), intake.notes
    report, state = _report(metadata)
    if report:
        return _finished(intake, message, [report], "assistant", where, state)
    if get(metadata, "is_visually_hidden_from_conversation"):
        notes[HIDDEN] += 1
    elif role in ("system", "tool"):
        notes[SYSTEM] += 1
    elif message.get("recipient") not in (None, "all"):
        if document := _document(message):
            asked = [str(get(message, path)) for path in ("content.text", "content.parts.0")]
            return _finished(intake, message, [document], "assistant", where, asked)
        notes[TO_TOOLS] += 1
    elif get(message, "content.content_type") in _THINKING:
        notes[THOUGHTS] += 1
    elif get(message, "content.content_type") == "user_editable_context":
        notes[HIDDEN] += 1
    else:
        content = message.get("content")
        parts = content.get("parts") if is_object(content) else None
        given = cast("list[object]", parts) if isinstance(parts, list) and parts else [content]
        return _finished(intake, message, given, role, where)
    return ()


def _finished(
    intake: Intake,
    message: Object,
    parts: Sequence[object],
    role: Role | None,
    where: str,
    passed: Sequence[str] = (),
) -> Sequence[Entry]:
    words = Words(intake.notes)
    words.passed += passed
    pictures = 0
    for part in parts:
        kind = part.get("content_type") if is_object(part) else None
        pictures += kind == "image_asset_pointer"
        if kind != "image_asset_pointer" and kind not in _AUDIO:  # its transcript is a part too
            words.add(part)
    words.passed += words.texts
    words.texts = [without_citations(text) for text in words.texts]
    if pictures:
        words.shared.append("a picture" if pictures == 1 else f"{pictures} pictures")
    for file in objects_in(get(message.get("metadata"), "attachments")):
        if not str(file.get("mime_type") or "").startswith("image/"):
            what = file_named(file.get("name"))
            if not words.share(what, file, ("name",)):
                words.shared.append(what)
    if not words and is_object(message.get("content")) and not pictures:
        intake.notes[EMPTY] += 1
        return ()
    return finish(intake, message, words, Entry(where, role), LAYOUT)


def _document(message: Object) -> object:
    """Return what the assistant wrote into a canvas, by the message that asks for it."""
    recipient = str(message.get("recipient"))
    if not recipient.startswith(_CANVAS):
        return None
    text = get(message, "content.text") or get(message, "content.parts.0")
    try:
        document = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return text
    return {"type": "tool_use", "name": recipient, "input": document}


def _report(metadata: object) -> tuple[object, Sequence[str]]:
    """Return the report of a deep research, and the strings of the state that has it."""
    for path in ("chatgpt_sdk.widget_state", "chatgpt_sdk.venus_widget_state", "widget_state"):
        found = get(metadata, path)
        try:
            state = json.loads(found) if isinstance(found, str) else found
        except ValueError:
            continue
        if report := get(state, "report_message.content") or get(state, "report_message"):
            return get(report, "parts") or report, [text for _, text in strings(found)]
    return None, ()


def _read(intake: Intake) -> Iterator[History]:
    records = chatgpt_conversations(intake) if intake.kind == "text" else None
    return read_talks(intake, LAYOUT, _message, records=records)


def _sniff(intake: Intake) -> bool:
    if intake.kind == "text":
        return is_chatgpt_page(intake)
    first = intake.first
    tree = isinstance(first.get("mapping"), dict) or "current_node" in first
    return tree and "inserted_at" not in first


FORMAT = format_named("chatgpt", _read, _sniff)
