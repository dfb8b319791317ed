"""ChatGPT's export, ``conversations.json``: a list of conversations, each a tree of messages.

``[{"id", "title", "create_time", "current_node", "mapping": {node: {"parent", "message":
{"author": {"role"}, "create_time", "content": {"content_type", "parts"}, "metadata"}}}}]``. The
branch that ends at ``current_node`` is read, a session a conversation, all in one history. What is
not text, and what the system, tools or hidden messages say, is left out and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, Preview, SessionBuilder, history
from theanine.importers.chat import ROLES
from theanine.importers.dates import epoch_time
from theanine.importers.fields import (
    as_list,
    as_object,
    is_object,
    member,
    optional_text,
    require_storable,
)
from theanine.types import History, Transcript, Utterance

_TEXTS = ("text", "multimodal_text")
Node = tuple[str, Mapping[str, object], str]
"""A message with its node's id and its place in the source."""


def _sniff(sample: Preview) -> bool:
    return is_object(sample.first.get("mapping"))


def _read(intake: Intake) -> Iterator[History]:
    notes = Counter[str]()
    transcripts: list[Transcript] = []
    for where, record in intake.records():
        with intake.catching():
            title = optional_text(record, "title", where).strip() or "untitled"
            id_ = optional_text(record, "conversation_id", where) or optional_text(
                record, "id", where
            )
            draft = SessionBuilder(f"{title} ({id_})" if id_ else title, notes)
            _fill(intake, draft, record, where, notes)
            if draft:
                transcripts.append(draft.done())
            else:
                notes["conversations without words"] += 1
    if transcripts:
        yield history(intake.options.name or "chatgpt", transcripts, +notes)


def _fill(
    intake: Intake,
    draft: SessionBuilder,
    record: Mapping[str, object],
    where: str,
    notes: Counter[str],
) -> None:
    last = record.get("create_time")
    previous = None if last is None else epoch_time(last, f"{where}.create_time")
    for node, message, spot in _branch(record, where):
        with intake.catching():
            role = _role(message, spot, notes)
            text = _words(message, spot, notes) if role else ""
            if role and text:
                at = _time(message, previous if draft else None, previous, spot, notes)
                speaker, ours = ROLES[role]
                draft.add(
                    Utterance(text=text, speaker=speaker, at=at, role=ours, key=node),
                    spot,
                )
                previous = at


def _branch(record: Mapping[str, object], where: str) -> Sequence[Node]:
    """The messages from the root to the current node."""
    mapping = as_object(member(record, "mapping", where), f"{where}.mapping")
    node: object = member(record, "current_node", where) if mapping else None
    found: list[Node] = []
    seen: set[str] = set()
    while node is not None:
        if not isinstance(node, str) or node not in mapping:
            raise BadInput(f'no node "{str(node)[:40]}" in the mapping; export again', where)
        if node in seen:
            raise BadInput(f'the node "{node[:40]}" is its own ancestor; export again', where)
        seen.add(node)
        spot = f'{where}.mapping["{require_storable(node, where)[:40]}"]'
        entry = as_object(mapping[node], spot)
        if entry.get("message") is not None:
            found.append((node, as_object(entry["message"], spot), spot))
        node = entry.get("parent")
    return found[::-1]


def _role(message: Mapping[str, object], where: str, notes: Counter[str]) -> str | None:
    """``user`` or ``assistant``; None for what is no part of the talk."""
    role = optional_text(as_object(member(message, "author", where), where), "role", where)
    metadata = as_object(message.get("metadata") or {}, where)
    if metadata.get("is_visually_hidden_from_conversation"):
        notes["hidden messages left out"] += 1
    elif role not in ROLES:
        notes["system and tool messages left out"] += 1
    elif message.get("recipient") not in (None, "all"):
        notes["messages to tools left out"] += 1
    else:
        return role
    return None


def _words(message: Mapping[str, object], where: str, notes: Counter[str]) -> str:
    content = as_object(member(message, "content", where), where)
    if content.get("content_type") not in _TEXTS:
        notes["messages that are no text left out"] += 1
        return ""
    parts = as_list(content.get("parts") or [], f"{where}.parts")
    texts = [part for part in parts if isinstance(part, str)]
    notes["parts that are no text left out"] += len(parts) - len(texts)
    text = "\n".join(text for text in texts if text.strip())
    notes["empty messages left out"] += not parts or (len(texts) == len(parts) and not text)
    return text


def _time(
    message: Mapping[str, object],
    floor: datetime | None,
    fallback: datetime | None,
    where: str,
    notes: Counter[str],
) -> datetime:
    """Its own time, never before the turn ahead of it; without one, that turn's or the chat's."""
    value = message.get("create_time")
    if value is None:
        if fallback is None:
            raise BadInput("neither the message nor its conversation has a create_time", where)
        notes["turns without a time of their own"] += 1
        return fallback
    at = epoch_time(value, f"{where}.create_time")
    if floor is not None and at < floor:
        notes["turns moved to keep the order of time"] += 1
        return floor
    return at


FORMAT = Format(
    name="chatgpt",
    summary="ChatGPT's data export (conversations.json)",
    sniff=_sniff,
    read=_read,
)
