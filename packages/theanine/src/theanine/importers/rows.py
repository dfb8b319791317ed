"""Formats that are rows of :mod:`theanine.importers.table`.

Each row says by which keys its files are told, and where they have their messages. What a row can't
say is a few lines of Python beside it. None of these has seen a real export; the layouts are as
published loaders of each service read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from theanine.importers.base import Format, Intake
from theanine.importers.folder import Folder
from theanine.importers.html_text import html_to_text
from theanine.importers.schema import Object, is_object, objects_in
from theanine.importers.table import (
    HIDDEN,
    Entry,
    Layout,
    Path,
    Reader,
    get,
    read_entry,
    read_talks,
    without,
)
from theanine.importers.web_pages import is_messenger_page, messenger_talk
from theanine.importers.words import note_unread
from theanine.types import History

_LOOKED_AT = 3
CALLS = "service messages left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A format of the table.

    Attributes:
        keys: sets of paths, of which one set must be in the first object; a ``0`` stands for one of
            the first items of a list.
        files: names that its files have in a folder or an archive.
        read: how a message is read.
        page: of a format that is also a web page, how it is told, and read as a conversation.
    """

    name: str
    layout: Layout
    keys: Sequence[Sequence[Path]]
    files: Sequence[str] = ()
    read: Reader = read_entry
    page: tuple[Callable[[Intake], bool], Callable[[Intake], Object]] | None = None

    def matches(self, first: object) -> bool:
        """Return whether the first object of a source has the keys of this format."""
        return any(
            all(_has(first, path.replace(".0.", f".{item}.")) for path in paths)
            for paths in self.keys
            for item in range(_LOOKED_AT)
        )

    def format(self) -> Format:
        """Return it as a format."""

        def pick(folder: Folder) -> Sequence[str]:
            return folder.select(*self.files) if self.files else ()

        def sniff(intake: Intake) -> bool:
            if intake.kind == "text":
                return self.page is not None and self.page[0](intake)
            return intake.kind in ("json", "lines") and self.matches(intake.first)

        def read(intake: Intake) -> Iterator[History]:
            is_page = intake.kind == "text" and self.page is not None
            records = [(intake.name, self.page[1](intake))] if is_page and self.page else None
            return read_talks(intake, self.layout, self.read, records=records)

        return Format(name=self.name, sniff=sniff, read=read, pick=pick, repairs=True)


def _has(value: object, path: Path) -> bool:
    parent, _, key = path.rpartition(".")
    holder = get(value, parent)
    return key in holder if is_object(holder) else get(value, path) is not None


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


_CHAT = Layout(people=True, role=())

ROWS = (
    Row(
        name="deepseek",
        keys=[["mapping", "inserted_at"]],
        layout=Layout(
            messages=("mapping",),
            item="message",
            role=("role", "author.role", "fragments.0.type"),
            words=("fragments", "content"),
            roles={"request": "user", "file": "user", "think": "assistant", "search": "assistant"},
        ),
        files=("conversations.json",),
    ),
    Row(
        name="grok",
        keys=[["conversations.0.responses"], ["conversations.0.conversation"]],
        layout=Layout(
            talks="conversations.*",
            messages=("responses",),
            item="response",
            role=("sender", "role"),
            words=("message", "content", "text"),
            title=("conversation.title",),
            talk_id=("conversation.id", "conversation._id"),
            talk_time=("conversation.create_time", "conversation.modify_time"),
            current=("conversation.leaf_response_id",),
        ),
        files=("prod-grok-backend.json",),
    ),
    Row(
        name="open-webui",
        keys=[["chat.history"], ["chat.messages"], ["history.messages"], ["data.0.chat.history"]],
        layout=Layout(
            talks="data.*",
            messages=("chat.history.messages", "history.messages", "chat.messages"),
            current=("chat.history.currentId", "chat.currentId", "history.currentId"),
            title=("title", "chat.title"),
        ),
        files=("chat-export-*.json", "all-chats-export*.json"),
    ),
    Row(
        name="librechat",
        keys=[
            ["conversationId", "messages.0.messageId"],
            ["conversationId", "exportAt"],
            ["messages.0.isCreatedByUser"],
        ],
        layout=Layout(
            words=("content", "text"),
            talk_id=("conversationId", "_id"),
            talk_time=("createdAt", "exportAt"),
        ),
    ),
    Row(
        name="lmstudio",
        keys=[["messages.0.versions"], ["messages.0.currentlySelected"]],
        layout=Layout(words=("content", "steps", "text")),
        files=("*.conversation.json",),
        read=_version,
    ),
    Row(
        name="jan",
        keys=[["thread_id", "role", "content"]],
        layout=Layout(title=("title",), talk_id=()),
    ),
    Row(
        name="google-chat",
        keys=[["messages.0.creator"], ["messages.0.message_state"], ["messages.0.topic_id"]],
        layout=replace(_CHAT, name=("creator", "sender"), id=("message_id",)),
    ),
    Row(
        name="messenger",
        keys=[
            ["participants", "messages.0.sender_name"],
            ["participants", "messages.0.senderName"],
            ["messages.0.sender_name", "messages.0.timestamp_ms"],
            ["thread_path", "messages"],
            ["threadName", "messages"],
        ],
        layout=replace(
            _CHAT,
            name=("sender_name", "senderName"),
            title=("title", "threadName"),
            talk_id=("thread_path",),
            mojibake=True,
        ),
        files=("message_*.json", "message_*.html"),
        page=(is_messenger_page, messenger_talk),
    ),
    Row(
        name="character-ai",
        keys=[
            ["turns.0.candidates"],
            ["turns.0.turn_key"],
            ["histories.histories"],
            ["msgs.0.is_human"],
            ["msgs.0.src"],
            ["chats.0.turns"],
        ],
        layout=Layout(
            talks="histories.histories.*",
            messages=("turns", "msgs", "messages"),
            words=("raw_content", "text", "content"),
            name=("author.name", "src.name"),
            id=("turn_key.turn_id", "uuid", "id"),
            talk_id=("external_id", "chat_id", "id"),
        ),
        read=_character,
    ),
    Row(
        name="sillytavern",
        keys=[
            ["user_name", "character_name"],
            ["mes", "is_user"],
            ["mes", "send_date"],
            ["mes", "name"],
        ],
        layout=Layout(words=("mes",), title=("character_name",), talk_id=()),
        read=_tavern,
    ),
    Row(
        name="skype",
        keys=[["conversations.0.MessageList"]],
        layout=replace(
            _CHAT,
            talks="conversations.*",
            messages=("MessageList",),
            name=("displayName",),
            time=("originalarrivaltime", "composetime"),
            title=("displayName", "threadProperties.topic"),
        ),
        files=("messages.json",),
        read=_skype,
    ),
    Row(
        name="typingmind",
        keys=[["data.chats.0.messages"], ["chatTitle", "messages"]],
        layout=Layout(talks="data.chats.*", title=("chatTitle",), talk_id=("chatID", "id")),
    ),
    Row(
        name="chatbot-ui",
        keys=[["history.0.messages", "version"], ["history.0.messages", "folders"]],
        layout=Layout(talks="history.*"),
    ),
    Row(
        name="mistral",
        keys=[["chatId", "role", "createdAt"]],
        layout=Layout(words=("content", "contentChunks"), talk_id=()),
        files=("chat-*.json",),
    ),
)
FORMATS = tuple(row.format() for row in ROWS)
