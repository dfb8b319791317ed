"""The export of Claude.ai: the zip archive as it comes, or ``conversations.json`` from it.

``[{"uuid", "name", "created_at", "chat_messages": [{"uuid", "sender": "human" or "assistant",
"created_at", "text", "content": [{"type", "text"}], "attachments": [{"file_name",
"extracted_content"}], "files": [{"file_name"}], "parent_message_uuid"?}]}]``. Each conversation
becomes a session, all in one history. A message's words are its ``content``'s, or ``text`` where
that has none; a pasted text, an attachment without a name or called ``paste.txt``, is part of them.
The texts of other attachments are left out and counted. Of messages that were asked again, the
branch that ends at the last message is read. The archive's ``users.json`` names the user.

Sources: basicmachines-co/basic-memory
``src/basic_memory/importers/claude_conversations_importer.py``, Sinity/polylogue
``docs/providers/claude-ai.md``. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake, SessionBuilder
from theanine.importers.content import read_content
from theanine.importers.dates import iso_time
from theanine.importers.json_stream import ITEMS, select
from theanine.importers.schema import (
    Filled,
    Item,
    Text,
    as_object,
    check,
    objects_in,
    require_storable,
)
from theanine.types import History, Role, Utterance

_ROLES: dict[str, Role] = {"human": "user", "user": "user", "assistant": "assistant"}


_PASTED = re.compile(r"paste[\w ()-]*\.txt", re.IGNORECASE)
"""Names that Claude.ai gives to a long text that is pasted into a message."""


class _Message(Item):
    uuid: Filled
    sender: Filled
    created_at: Text | None = None
    text: Text | None = None
    content: object = None
    attachments: object = None
    files: object = None
    parent_message_uuid: Text | None = None


class _Conversation(Item):
    uuid: Filled
    created_at: Filled
    name: Text | None = None
    chat_messages: list[object]
    current_leaf_message_uuid: Text | None = None


def _read(intake: Intake) -> Iterator[History]:
    owner = _owner(intake)
    name = intake.user_name(owner)
    for where, record in intake.records():
        with intake.catching():
            conversation = check(_Conversation, record, where)
            title = (conversation.name or "").strip()
            session = SessionBuilder(conversation.uuid, intake.notes, title=title)
            at_messages = f"{where}.chat_messages"
            items = list(intake.items(_Message, conversation.chat_messages, at_messages))
            branch = _branch([message for _, _, message in items], conversation)
            intake.notes["messages of other branches left out"] += len(items) - len(branch)
            for _, at_message, message in items:
                if message.uuid in branch:
                    with intake.catching():
                        _add(intake, session, message, conversation, owner, at_message)
            if session:
                yield intake.part(name, session.build())
            else:
                intake.notes["conversations without text"] += 1
    yield intake.part(name)


def _owner(intake: Intake) -> str:
    """Return the name of the user: the caller's, else the one in the archive's ``users.json``."""
    if intake.options.speaker or intake.folder is None:
        return intake.options.speaker or ""
    for name in intake.folder.select("users.json"):
        with intake.folder.open(name) as source:
            for (index,), user in select(source.stream(), name, ITEMS):
                full_name = as_object(user, f"{name}, [{index}]").get("full_name")
                if isinstance(full_name, str) and full_name.strip():
                    return require_storable(full_name.strip(), name)
    return ""


def _branch(messages: Sequence[_Message], conversation: _Conversation) -> set[str]:
    """Return the messages from the root to the last; all if they don't name their parents."""
    by_id = {message.uuid: message for message in messages}
    parents = {m.uuid: m.parent_message_uuid for m in messages if m.parent_message_uuid}
    leaf = conversation.current_leaf_message_uuid or (messages[-1].uuid if messages else None)
    branch: set[str] = set()
    while leaf in by_id and leaf not in branch:
        branch.add(leaf)
        leaf = parents.get(leaf)
    # A parent that isn't there is the root; but without any parent nothing tells branches apart.
    return branch if parents else set(by_id)


def _add(
    intake: Intake,
    session: SessionBuilder,
    message: _Message,
    conversation: _Conversation,
    owner: str,
    where: str,
) -> None:
    role = _ROLES.get(message.sender)
    if role is None:
        raise BadInput(f'unknown sender "{message.sender[:40]}"; export again', where)
    text, shared = read_content(message.content, f"{where}.content", intake.notes)
    texts = [text or message.text or ""]
    described = [shared] if shared else []
    for file in [*objects_in(message.attachments), *objects_in(message.files)]:
        name, pasted = file.get("file_name"), file.get("extracted_content")
        name = name if isinstance(name, str) else ""
        has_text = isinstance(pasted, str) and pasted.strip()
        if has_text and (not name.strip() or _PASTED.fullmatch(name)):
            texts.append(str(pasted))
        elif name.strip():
            described.append(f'the file "{name}"')
            intake.notes["texts of attached files left out"] += bool(has_text)
    text = require_storable("\n".join(each for each in texts if each.strip()), where)
    attachment = require_storable(", ".join(described), where)
    if not text and not attachment:
        intake.notes["empty messages left out"] += 1
        return
    at = iso_time(message.created_at or conversation.created_at, where, intake.options.local)
    turn = Utterance(
        text=text,
        speaker=owner if owner and role == "user" else intake.speaker_of(role),
        at=at,
        role=role,
        key=message.uuid,
        attachment=attachment,
    )
    session.append(turn, where)


FORMAT = Format(
    name="claude",
    sniff=lambda intake: isinstance(intake.first.get("chat_messages"), list),
    read=_read,
    pick=lambda folder: folder.select("conversations.json", "conversations-*.json"),
)
