"""Chats of Discord: a channel by DiscordChatExporter, or the package of one's own data.

DiscordChatExporter writes a file a channel, ``{"guild": {"name"}, "channel": {"id", "name"},
"messages": [{"id", "type", "timestamp", "content", "author": {"name", "nickname", "isBot"},
"attachments": [{"fileName"}]}]}``. The package has ``messages/c<id>/messages.json`` with ``[{"ID",
"Timestamp", "Contents", "Attachments"}]``, or until 2024 ``messages.csv`` with these columns, next
to ``channel.json``, and ``account/user.json``. A thread is a channel that is one session.

Sources: Tyrrrz/DiscordChatExporter ``DiscordChatExporter.Core/Exporting/JsonMessageWriter.cs``,
peterhanania/Discord-Package, Edouard127/discord-package-parser. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import PurePosixPath

from theanine.importers.base import Entry, Intake, format_named
from theanine.importers.folder import Folder
from theanine.importers.json_stream import select
from theanine.importers.mapped import csv_heading, csv_rows
from theanine.importers.schema import (
    Object,
    as_object,
    get,
    is_object,
    objects_in,
)
from theanine.importers.sessions import ChatSessions, chat_sessions
from theanine.importers.table import finish, layout_named, name_of
from theanine.importers.web_pages import discord_blocks, is_discord_page
from theanine.importers.words import Words, file_named, note_unread, quoted, storable
from theanine.importers.written_dates import any_time, is_zoneless
from theanine.types import History

_LAYOUT = layout_named("discord")
_OWN_LAYOUT = layout_named("discord-package")
_OF_EMBEDS = ("url", "color", "thumbnail", "image", "images", "video", "inlineEmojis")
_MARK = re.compile(
    r"<(?:(?P<sign>@[!&]?|#)(?P<id>\d+)|a?(?P<emoji>:\w+:)\d+|(?P<command>/[^<>:]+):\d+"
    r"|t:(?P<time>-?\d{1,12})(?::\w)?)>"
)
_WORDS = frozenset({"Default", "Reply", "0", "19", "20", "ThreadStarterMessage"})


def _read(intake: Intake) -> Iterator[History]:
    if _is_own(intake):
        owner, title = _owner(intake), _channel(intake)
        messages = _own_messages(intake, owner)
        name = intake.user_name(owner)
        yield from chat_sessions(intake, name, title, messages, either_order=True)
        return
    if intake.kind == "text":
        page = list(discord_blocks(intake))
        title = next((name_of(each) for _, each in page if "name" in each), "") or intake.stem
        rows = (row for row in page if "author" in row[1])
        messages = (m for where, each in rows for m in _message(intake, each, where))
        yield from chat_sessions(intake, intake.user_name(), title, messages)
        return
    about: dict[str, object] = {}
    sessions: ChatSessions | None = None
    patterns = (("guild",), ("channel",), ("messages", "*"))
    for place, value in select(intake.source.stream(), intake.name, *patterns):
        if place[0] != "messages":
            about[str(place[0])] = value
            continue
        if sessions is None:  # the server and the channel come before the messages
            title = storable(_title(about.get("channel"), about.get("guild")))
            rest = {key: each for key, each in intake.first.items() if key != "messages"}
            names = (str(get(rest, path)) for path in ("guild.name", "channel.name"))
            note_unread(intake.notes, rest, [title, *names])
            sessions = ChatSessions(intake, intake.user_name(), title)
        where = f"{intake.name}, {'.'.join(map(str, place))}"
        with intake.catching():
            for message in _message(intake, as_object(value, where), where):
                message.thread = _thread(about.get("channel"))
                yield from sessions.add(message)
    if sessions is not None:
        yield from sessions.end()


def _title(channel: object, guild: object) -> str:
    channel, guild = (each if is_object(each) else {} for each in (channel, guild))
    name = str(channel.get("name") or channel.get("id") or "channel")
    server = guild.get("name")
    is_server = isinstance(server, str) and server.strip() and server != "Direct Messages"
    return f"{server} #{name}" if is_server else name


def _thread(channel: object) -> str:
    """Return the id of a channel that is a thread, by the name or the number of its type."""
    kind = str(get(channel, "type"))
    return str(get(channel, "id")) if "Thread" in kind or kind in ("10", "11", "12") else ""


def _message(intake: Intake, message: Object, where: str) -> Iterator[Entry]:
    author = message.get("author")
    if get(author, "isBot"):
        intake.notes["messages of apps left out"] += 1
    elif str(message.get("type") or "Default") not in _WORDS:
        intake.notes["service messages left out"] += 1
    else:
        words = Words(intake.notes)
        words.add(message.get("content"))
        _share(words, message)
        _put_names(words, message)
        if is_object(forwarded := message.get("forwardedMessage")):
            other = Words(intake.notes)
            other.add(forwarded.get("content"))
            _share(other, forwarded)
            _put_names(other, message)
            said = [each for each in (other.text, other.attachment) if each]
            words.passed += other.read
            words.shared.append(quoted("a forwarded message", said))
        name = name_of(author)
        if not name:
            intake.repaired("messages without an author", where)
        entry = Entry(where, "user", name or "someone")
        yield from finish(intake, message, words, entry, _LAYOUT)


def _put_names(words: Words, message: Object) -> None:
    """Replace Discord's marks of people, roles, emoji and times by what they show."""
    author = message.get("author")
    known = [*objects_in(message.get("mentions")), *objects_in(get(author, "roles"))]
    names = {str(each.get("id")): name_of(each) for each in known}

    def shown(mark: re.Match[str]) -> str:
        if mark["time"]:
            at = any_time(int(mark["time"]), UTC)
            return at.strftime("%Y-%m-%d %H:%M UTC") if at else mark[0]
        if mark["id"]:
            return mark["sign"][0] + (names.get(mark["id"]) or mark["id"])
        return mark["emoji"] or mark["command"]

    for texts in (words.texts, words.shared):
        marked = [text for text in texts if _MARK.search(text)]
        words.passed += marked
        texts[:] = [_MARK.sub(shown, text) for text in texts]


def _share(words: Words, message: Object) -> None:
    """Add files, stickers, embeds and polls of a message."""
    for file in objects_in(message.get("attachments")):
        words.shared.append(file_named(file.get("fileName") or file.get("name") or "unnamed"))
    for sticker in objects_in(message.get("stickers")):
        words.shared.append(file_named(f"{sticker.get('name')} (sticker)"))
    for embed in objects_in(message.get("embeds")):
        words.share("an embed", embed, _OF_EMBEDS)
    if poll := message.get("poll"):
        words.share("a poll", poll)


def _owner(intake: Intake) -> str:
    folder = intake.folder
    names = folder.select("user.json") if folder else []
    user = folder.object(names[0]) if folder and names else {}
    return intake.options.speaker or name_of(user.get("global_name") or user.get("username"))


def _channel(intake: Intake) -> str:
    about = _beside(intake.name)
    if channel := intake.folder.object(about) if intake.folder else {}:
        return storable(_title(channel, channel.get("guild")))
    return storable(PurePosixPath(intake.name).parent.name or "channel")


def _own_messages(intake: Intake, owner: str) -> Iterator[Entry]:
    rows = csv_rows(intake, ",") if intake.kind == "text" else intake.records()
    for where, message in rows:
        with intake.catching():
            words = Words(intake.notes)
            words.add(message.get("Contents"))
            _put_names(words, message)
            links = message.get("Attachments")
            for link in links.split() if isinstance(links, str) else ():
                words.shared.append(file_named(link.rsplit("/", 1)[-1]))
            at = message.get("Timestamp")
            if isinstance(at, str) and is_zoneless(at):
                message = {**message, "Timestamp": f"{at}Z"}  # they are in UTC
            entry = Entry(where, "user", owner or intake.speaker_of("user"))
            words.passed += [links] if isinstance(links, str) else []
            yield from finish(intake, message, words, entry, _OWN_LAYOUT)


def _is_own(intake: Intake) -> bool:
    return "Contents" in (csv_heading(intake) if intake.kind == "text" else intake.first)


def _beside(name: str) -> str:
    """Return the path of the file with a channel's name, by that of its messages."""
    return str(PurePosixPath(name).with_name("channel.json"))


def _pick(folder: Folder) -> Sequence[str]:
    """Return the files of the package, whose folders are named in the user's language."""
    return [
        name
        for name in folder.select("messages.json", "messages.csv")
        if "messages/c" in name.lower() or _beside(name) in folder.names
    ]


FORMAT = format_named(
    "discord", _read, lambda intake: _is_own(intake) or is_discord_page(intake), _pick
)
