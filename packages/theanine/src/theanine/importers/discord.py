"""Chats of Discord: a channel by DiscordChatExporter, or the package of one's own data.

DiscordChatExporter writes a file a channel, ``{"guild": {"name"}, "channel": {"id", "name"},
"messages": [{"id", "type", "timestamp", "content", "author": {"name", "nickname", "isBot"},
"attachments": [{"fileName"}]}]}``. The package, a zip archive from Discord, has
``messages/c<id>/messages.json`` with ``[{"ID", "Timestamp", "Contents", "Attachments"}]`` next to
``channel.json``; it holds only the user's own messages, and ``account/user.json`` their name.
Messages of bots, and of Discord about who joined or pinned, are left out and counted.

Sources: Tyrrrz/DiscordChatExporter ``DiscordChatExporter.Core/Exporting/JsonMessageWriter.cs``,
peterhanania/Discord-Package, Edouard127/discord-package-parser. Never seen real.
"""

from __future__ import annotations

from collections.abc import Iterator

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake
from theanine.importers.chats import ChatMessage, ChatSessions, chat_sessions
from theanine.importers.dates import iso_time
from theanine.importers.json_stream import select
from theanine.importers.schema import (
    Object,
    as_object,
    check,
    is_object,
    objects_in,
    parse,
    require_storable,
)
from theanine.types import History

_WORDS = frozenset({"Default", "Reply", "0", "19", "20", "ThreadStarterMessage"})


def _sniff(intake: Intake) -> bool:
    first = intake.first
    exported = {"guild", "channel", "messages"} <= first.keys()
    return intake.kind == "json" and (exported or {"ID", "Timestamp", "Contents"} <= first.keys())


def _read(intake: Intake) -> Iterator[History]:
    if "Contents" in intake.first:
        owner, title = _owner(intake), _channel(intake)
        messages = _own_messages(intake, owner)
        name = intake.user_name(owner)
        yield from chat_sessions(intake, name, title, messages, either_order=True)
        yield intake.part(name)
        return
    about: dict[str, object] = {}
    sessions: ChatSessions | None = None
    patterns = (("guild",), ("channel",), ("messages", "*"))
    for place, value in select(intake.source.stream(), intake.name, *patterns):
        if place[0] != "messages":
            about[str(place[0])] = value
            continue
        if sessions is None:  # the server and the channel come before the messages
            title = require_storable(_title(about.get("channel"), about.get("guild")), intake.name)
            sessions = ChatSessions(intake, intake.user_name(), title)
        where = f"{intake.name}, {'.'.join(map(str, place))}"
        with intake.catching():
            for message in _message(intake, as_object(value, where), where):
                yield from sessions.add(message)
    if sessions is not None:
        yield from sessions.end()
    yield intake.part(intake.user_name())


def _title(channel: object, guild: object) -> str:
    channel, guild = (each if is_object(each) else {} for each in (channel, guild))
    name = str(channel.get("name") or channel.get("id") or "channel")
    server = guild.get("name")
    is_server = isinstance(server, str) and server.strip() and server != "Direct Messages"
    return f"{server} #{name}" if is_server else name


def _message(intake: Intake, message: Object, where: str) -> Iterator[ChatMessage]:
    author = as_object(message.get("author"), f"{where}.author")
    content = check(str, message.get("content") or "", f"{where}.content")
    names = [str(each.get("fileName")) for each in objects_in(message.get("attachments"))]
    names += [f"{each.get('name')} (sticker)" for each in objects_in(message.get("stickers"))]
    if author.get("isBot"):
        intake.notes["messages of apps left out"] += 1
    elif str(message.get("type", "Default")) not in _WORDS:
        intake.notes["service messages left out"] += 1
    elif not content.strip() and not names:
        intake.notes["empty messages left out"] += 1
    else:
        speaker = author.get("nickname") or author.get("name")
        if not isinstance(speaker, str) or not speaker.strip():
            raise BadInput("a message whose author has no name; export again", where)
        at = check(str, message.get("timestamp"), f"{where}.timestamp")
        yield ChatMessage(
            at=iso_time(at, f"{where}.timestamp", intake.options.local),
            speaker=require_storable(speaker.strip(), where),
            text=require_storable(content, where),
            attachment=require_storable(", ".join(f'the file "{n}"' for n in names), where),
            key=require_storable(str(message.get("id") or ""), where),
            where=where,
        )


def _sibling(intake: Intake, name: str) -> Object:
    """Return an object from another file of the package; empty if it isn't there."""
    folder = intake.folder
    if folder is None or name not in folder.names:
        return {}
    with folder.open(name) as source:
        return as_object(parse(source.text(), name), name)


def _owner(intake: Intake) -> str:
    names = intake.folder.select("user.json") if intake.folder else []
    user = _sibling(intake, names[0]) if names else {}
    found = user.get("global_name") or user.get("username")
    name = intake.options.speaker or (found if isinstance(found, str) else "")
    return require_storable(name, intake.name)


def _channel(intake: Intake) -> str:
    channel = _sibling(intake, intake.name.removesuffix("messages.json") + "channel.json")
    folder = intake.name.rsplit("/", 2)[-2] if "/" in intake.name else "channel"
    title = _title(channel, channel.get("guild")) if channel else folder
    return require_storable(title, intake.name)


def _own_messages(intake: Intake, owner: str) -> Iterator[ChatMessage]:
    for where, message in intake.records():
        with intake.catching():
            content = check(str, message.get("Contents") or "", f"{where}.Contents")
            links = check(str, message.get("Attachments") or "", f"{where}.Attachments").split()
            if not content.strip() and not links:
                intake.notes["empty messages left out"] += 1
                continue
            at = check(str, message.get("Timestamp"), f"{where}.Timestamp")
            files = ", ".join(f'the file "{link.rsplit("/", 1)[-1]}"' for link in links)
            yield ChatMessage(
                # Times without a zone are in UTC.
                at=iso_time(at if "+" in at or at.endswith("Z") else f"{at}Z", where, None),
                speaker=owner or intake.speaker_of("user"),
                text=require_storable(content, where),
                attachment=require_storable(files, where),
                key=require_storable(str(message.get("ID") or ""), where),
                where=where,
            )


FORMAT = Format(
    name="discord",
    sniff=_sniff,
    read=_read,
    pick=lambda folder: [
        name for name in folder.select("messages.json") if "messages/c" in name.lower()
    ],
)
