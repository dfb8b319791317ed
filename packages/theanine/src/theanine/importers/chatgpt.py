"""ChatGPT's export: the zip archive as it comes, or ``conversations.json`` from it.

A list of conversations, each a tree of messages::

    [{"id", "title", "create_time", "current_node", "mapping": {node: {"parent", "message":
      {"author": {"role"}, "create_time", "content": {"content_type", "parts"}, "metadata"}}}}]

Exports since 2026 are split into ``conversations-000.json``, ``conversations-001.json`` and so
on. Each conversation becomes a session, all in one history; of its tree, the branch that ends at
``current_node`` is read. What was said aloud is in parts of the type ``audio_transcription``, next
to pointers to the sound, and is read as text; pictures and files are noted as attachments. Other
content that isn't text, and messages that are hidden or of the system or of tools, are left out and
counted.

Sources: skillsynchq/txcript ``docs/formats/chatgpt.md`` and mitkury/chatgpt-export-parser
``docs/chatgpt-data-export-format.md``. Exports of version 0.1 were real, voice and splits are as
published loaders show them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, SessionBuilder
from theanine.importers.dates import epoch_time
from theanine.importers.schema import (
    Item,
    Object,
    Text,
    as_object,
    check,
    is_object,
    objects_in,
    require_storable,
)
from theanine.types import History, Role, Utterance

_TEXT_TYPES = ("text", "multimodal_text", None)
_AUDIO = ("audio_asset_pointer", "real_time_user_audio_video_asset_pointer")


class _Conversation(Item):
    mapping: Object
    current_node: object = None
    conversation_id: Text | None = None
    id: Text | None = None
    title: Text | None = None
    create_time: object = None


def _read(intake: Intake) -> Iterator[History]:
    name = intake.user_name()
    for where, record in intake.records():
        with intake.catching():
            conversation = check(_Conversation, record, where)
            title = (conversation.title or "").strip() or "untitled"
            key = conversation.conversation_id or conversation.id or title
            session = SessionBuilder(key, intake.notes, title=title)
            _add_turns(intake, session, conversation, where)
            if session:
                yield intake.part(name, session.build())
            else:
                intake.notes["conversations without text"] += 1
    yield intake.part(name)


def _add_turns(
    intake: Intake, session: SessionBuilder, conversation: _Conversation, where: str
) -> None:
    start, notes = conversation.create_time, intake.notes
    previous = None if start is None else epoch_time(start, f"{where}.create_time")
    for node, item, at_node in _branch(conversation, where):
        with intake.catching():
            # By hand: an export has very many messages, and a model would take twice the time.
            message = as_object(item, at_node)
            role = _role(message, at_node, notes)
            text, attachment = _content(message, at_node, notes) if role else ("", "")
            if role and (text or attachment):
                at = _time(message, previous if session else None, previous, at_node, notes)
                speaker = intake.speaker_of(role)
                turn = Utterance(
                    text=text, speaker=speaker, at=at, role=role, key=node, attachment=attachment
                )
                session.add(turn, at_node)
                previous = at


def _branch(conversation: _Conversation, where: str) -> Sequence[tuple[str, object, str]]:
    """Return node id, message and place of each message from the root to the current node."""
    mapping, node = conversation.mapping, conversation.current_node
    if mapping and node is None:
        raise BadInput('the field "current_node" is missing', where)
    messages: list[tuple[str, object, str]] = []
    seen: set[str] = set()
    while mapping and node is not None:
        if not isinstance(node, str) or node not in mapping:
            raise BadInput(f'no node "{str(node)[:40]}" in the mapping; export again', where)
        if node in seen:
            raise BadInput(f'the node "{node[:40]}" is its own ancestor; export again', where)
        seen.add(node)
        at_node = f'{where}.mapping["{require_storable(node, where)[:40]}"]'
        entry = as_object(mapping[node], at_node)
        if entry.get("message") is not None:
            messages.append((node, entry["message"], at_node))
        node = entry.get("parent")
    return messages[::-1]


def _role(message: Object, where: str, notes: Counter[str]) -> Role | None:
    """Return the message's role; None if it is no part of the conversation."""
    role = as_object(message.get("author"), f"{where}, author").get("role")
    metadata = as_object(message.get("metadata") or {}, f"{where}, metadata")
    if metadata.get("is_visually_hidden_from_conversation"):
        notes["hidden messages left out"] += 1
    elif role != "user" and role != "assistant":
        notes["system and tool messages left out"] += 1
    elif message.get("recipient") not in (None, "all"):
        notes["messages to tools left out"] += 1
    else:
        return "user" if role == "user" else "assistant"
    return None


def _content(message: Object, where: str, notes: Counter[str]) -> tuple[str, str]:
    """Return the text of a message and what was attached to it."""
    content = as_object(message.get("content"), f"{where}, content")
    if content.get("content_type") not in _TEXT_TYPES:
        notes["messages without text left out"] += 1
        return "", ""
    parts = check(list[object], content.get("parts") or [], f"{where}, content.parts")
    texts: list[str] = []
    pictures = 0
    for part in parts:
        kind = part.get("content_type") if is_object(part) else None
        if isinstance(part, str):
            texts.append(part)
        elif is_object(part) and kind == "audio_transcription":
            texts.append(check(str, part.get("text") or "", f"{where}, content.parts"))
        elif kind == "image_asset_pointer":
            pictures += 1
        elif kind not in _AUDIO:  # the sound of a transcript is no loss
            notes["parts that are not text left out"] += 1
    text = require_storable("\n".join(text for text in texts if text.strip()), where)
    notes["empty messages left out"] += not text and not pictures
    attachments = ["a picture" if pictures == 1 else f"{pictures} pictures"] if pictures else []
    attachments += _file_names(message, where)
    return text, require_storable(", ".join(attachments), where)


def _file_names(message: Object, where: str) -> list[str]:
    """Return the names of the files that were uploaded with a message, pictures apart."""
    metadata = as_object(message.get("metadata") or {}, f"{where}, metadata")
    names: list[str] = []
    for file in objects_in(metadata.get("attachments")):
        if not str(file.get("mime_type") or "").startswith("image/"):
            name = file.get("name")
            names.append(f'the file "{name}"' if isinstance(name, str) else "a file")
    return names


def _time(
    message: Object,
    earliest: datetime | None,
    fallback: datetime | None,
    where: str,
    notes: Counter[str],
) -> datetime:
    """Return the message's own time, but not before ``earliest``; ``fallback`` if it has none."""
    if message.get("create_time") is None:
        if fallback is None:
            raise BadInput("neither the message nor its conversation has a create_time", where)
        notes["turns without a time"] += 1
        return fallback
    at = epoch_time(message["create_time"], f"{where}.create_time")
    if earliest is not None and at < earliest:
        notes["turns moved to keep time order"] += 1
        return earliest
    return at


FORMAT = Format(
    name="chatgpt",
    sniff=lambda intake: isinstance(intake.first.get("mapping"), dict),
    read=_read,
    pick=lambda folder: folder.select("conversations.json", "conversations-*.json"),
)
