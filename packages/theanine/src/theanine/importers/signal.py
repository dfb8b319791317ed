"""Chats exported from Signal Desktop.

Its own export is ``main.jsonl``, a line an object: ``{"account"}``, ``{"recipient": {"id", "self"
or "contact" or "group"}}``, ``{"chat": {"id", "recipientId"}}`` and ``{"chatItem": {"chatId",
"authorId", "dateSent", "standardMessage": {"text": {"body"}, "attachments"}}}``. The tool
signal-export writes a folder a chat with ``data.json``, a line a message: ``{"date", "sender",
"body", "attachments", …}``, in which the user is called *Me*. sigtop writes a text a chat.

Sources: Cosmo697/signal-export-browser ``build_signal_db.py``, carderne/signal-export
``sigexport/models.py``, tbvdm/sigtop ``cmd/sigtop/fmt_text.go``. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import PurePosixPath

from theanine.importers.base import Entry, Intake, format_named
from theanine.importers.schema import (
    Object,
    as_object,
    get,
    is_object,
    objects_in,
    require_storable,
)
from theanine.importers.sessions import ChatSessions
from theanine.importers.table import finish, full_name, layout_named, name_of
from theanine.importers.words import (
    QUOTES,
    Words,
    file_named,
    note_unread,
    quoted,
    said_in,
    storable,
)
from theanine.importers.written_dates import any_time
from theanine.types import History

_ME = "Me"
_FRAMES = frozenset({"account", "recipient", "chat", "chatItem"})
_LAYOUT = layout_named("signal")
_PLAIN = layout_named("signal-export")
_NO_MESSAGES = frozenset({"incoming", "outgoing", "directionless", "revisions", "pinDetails"})
"""Objects in an item of a chat that aren't its message."""
_KINDS = {"image": "a picture", "video": "a video", "audio": "a recording"}


def _sniff(intake: Intake) -> bool:
    first = intake.first
    plain = len({"date", "sender", "body", "attachments", "quote", "reactions"} & first.keys()) >= 3
    frames = [
        record for record in intake.ahead if any(is_object(record.get(frame)) for frame in _FRAMES)
    ]
    return plain or any(record.keys() & {"recipient", "chatItem"} for record in frames)


def _read(intake: Intake) -> Iterator[History]:
    if {"date", "sender", "body"} & intake.first.keys():
        yield from _read_plain(intake)
        return
    people: dict[str, str] = {}
    chats: dict[str, str] = {}
    owner = _ME
    sessions: dict[str, ChatSessions] = {}
    for where, record in intake.records():
        with intake.catching():
            if is_object(account := record.get("account")):
                owner = full_name(account, "givenName", "familyName") or owner
                note_unread(intake.notes, account, [owner])
            elif is_object(recipient := record.get("recipient")):
                name = _person(recipient, intake.options.speaker or owner)
                people[str(recipient.get("id"))] = name
                intake.people.add(name)
                note_unread(intake.notes, recipient, [name])
            elif is_object(chat := record.get("chat")):
                chats[str(chat.get("id"))] = str(chat.get("recipientId"))
                note_unread(intake.notes, chat, ())
            elif is_object(item := record.get("chatItem")):
                id = str(item.get("chatId"))
                if id not in sessions:
                    title = require_storable(people.get(chats.get(id, ""), f"chat {id}"), where)
                    name = intake.user_name("" if owner == _ME else owner)
                    sessions[id] = ChatSessions(intake, name, title)
                for message in _message(intake, item, people, where):
                    yield from sessions[id].add(message)
            note_unread(intake.notes, {k: v for k, v in record.items() if k not in _FRAMES}, ())
    for each in sessions.values():
        yield from each.end()


def _person(recipient: Object, owner: str) -> str:
    if "self" in recipient:
        return owner
    if "group" in recipient:
        title = name_of(get(recipient, "group.snapshot.title.title"))
        return title or f"group {recipient.get('id')}"
    contact = recipient.get("contact")
    return (
        full_name(contact, "systemGivenName", "systemFamilyName")
        or full_name(contact, "profileGivenName", "profileFamilyName")
        or str(get(contact, "e164") or f"recipient {recipient.get('id')}")
    )


def _message(intake: Intake, item: Object, people: dict[str, str], where: str) -> Iterator[Entry]:
    kinds = [key for key, value in item.items() if is_object(value) and key not in _NO_MESSAGES]
    if not kinds or any(key in item for key in ("updateMessage", "remoteDeletedMessage")):
        intake.notes["service messages left out"] += 1
        return
    words = Words(intake.notes)
    for kind in kinds:
        message = as_object(item[kind], where)
        for path in ("text.body", "textReply.text.body", "emoji", "sticker.emoji", "body"):
            if isinstance(body := get(message, path), str):
                words.texts.append(body)
                break
        words.shared += [_attachment(each) for each in objects_in(message.get("attachments"))]
        for contact in [message.get("contact"), *objects_in(message.get("contact"))]:
            if is_object(contact):
                words.share("a contact", contact)
        for preview in objects_in(message.get("linkPreview")):
            words.share("a link", preview, ("url",))
        if poll := message if "options" in message else message.get("poll"):
            words.share("a poll", poll, ("votes",))
    author = str(item.get("authorId"))
    name = people.get(author) or f"recipient {author}"
    yield from finish(intake, item, words, Entry(where, "user", storable(name)), _LAYOUT)


def _attachment(each: Object) -> str:
    pointer = each.get("pointer")
    about = pointer if is_object(pointer) else each
    known = _KINDS.get(str(about.get("contentType")).partition("/")[0])
    name = about.get("fileName")
    return quoted(known or file_named(name), said_in(about, ("contentType", "fileName")))


def _plain_sessions(intake: Intake) -> ChatSessions:
    """Return the sessions of a chat by signal-export, which is named after its folder."""
    folder = PurePosixPath(intake.name).parent.name
    if not folder and intake.source.path:
        folder = intake.source.path.resolve().parent.name
    return ChatSessions(intake, intake.user_name(), folder or "chat")


def _read_plain(intake: Intake) -> Iterator[History]:
    """Read ``data.json`` of signal-export."""
    sessions = _plain_sessions(intake)
    for where, record in intake.records():
        with intake.catching():
            if record.get("deleted") or record.get("call"):
                intake.notes["deleted messages, calls and empty messages left out"] += 1
                continue
            words = Words(intake.notes)
            words.add(record.get("body"))
            for file in objects_in(record.get("attachments")):
                words.shared.append(file_named(str(file.get("name"))))
            sender = name_of(record.get("sender")) or "someone"
            name = (intake.options.speaker or _ME) if sender == _ME else sender
            for each in finish(intake, record, words, Entry(where, "user", name), _PLAIN):
                yield from sessions.add(each)
    yield from sessions.end()


# sigtop: a file of text a chat, whose messages are fields, a blank line and the words.

_SIGTOP_FIELD = re.compile(r"([A-Z][a-z]+): (.*)")
_SIGTOP_START = re.compile(r"(?:From: .*\n)?Type: [a-z-]+\n(?:Sent|Received|Attachment|Edited|\n)")
_SIGTOP_QUOTE = re.compile(r"> From: .*(?:\n>.*)*\n*")
_SIGTOP_NUMBER = re.compile(r" \(\+[\d ]+\)$")


def _read_sigtop(intake: Intake) -> Iterator[History]:
    lines = [line.rstrip("\r") for _, line in intake.text_lines()]
    starts = [
        i
        for i, line in enumerate(lines)
        if line.startswith(("From: ", "Type: "))
        and (i == 0 or not lines[i - 1])
        and _SIGTOP_START.match("\n".join([*lines[i : i + 3], "", ""]))
    ]
    chat = lines[0].removeprefix("Conversation: ") if lines[0] else intake.stem
    sessions = ChatSessions(intake, intake.user_name(), require_storable(chat, intake.name))
    for start, end in pairwise([*starts, len(lines)]):
        where = f"{intake.name}, line {start + 1}"
        with intake.catching():
            for message in _sigtop(intake, "\n".join(lines[start:end]), where):
                yield from sessions.add(message)
    yield from sessions.end()


def _sigtop(intake: Intake, block: str, where: str) -> Iterator[Entry]:
    """Read a message: fields, a blank line, what it quotes, a blank line, its words."""
    head, _, text = block.partition("\n\n")
    fields = _SIGTOP_FIELD.findall(head)
    known = dict(reversed(fields))
    if known["Type"] not in ("incoming", "outgoing"):
        intake.notes["service messages left out"] += 1
        return
    if "Edited" in known:  # the last version comes first
        versions = re.split(r"^Version: \d+\n", re.sub(r"^\| ?", "", text, flags=re.M), flags=re.M)
        intake.notes["earlier versions left out"] += len(versions) - 2
        more, _, text = (versions[1] if len(versions) > 1 else text).partition("\n\n")
        fields += _SIGTOP_FIELD.findall(more)
    text, quotes = _SIGTOP_QUOTE.subn("", text, 1) if _SIGTOP_QUOTE.match(text) else (text, 0)
    intake.notes[QUOTES] += quotes
    intake.notes["reactions left out"] += sum(field == "Reaction" for field, _ in fields)
    files = [value.rpartition(" (")[0] for field, value in fields if field == "Attachment"]
    shared = ", ".join(file_named("" if file == "no filename" else file) for file in files)
    name = _SIGTOP_NUMBER.sub("", known.get("From", "")) or "someone"
    name = (intake.options.speaker or name) if name == "You" else name
    at = any_time(known.get("Sent"), intake.options.local)
    if not text.strip() and not shared:
        intake.notes["deleted messages, calls and empty messages left out"] += 1
        return
    yield Entry(where, "user", name, text.strip(), shared, at=at)


# signal-export: also a file of Markdown a chat.

_MARKDOWN = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?)\] ([^:\n]{1,80}): ?(.*)")
_REACTIONS = re.compile(r"\n\(- .+ -\)")
_STICKER = re.compile(r"\n\(\( (.*) \)\)|\[([^\[\]\n]*)\]\(\.\./exported_stickers/[^()\n]*\) *")
_MEDIA = re.compile(r"!?\[([^\[\]\n]*)\]\(\./media/[^\n]*?\)(?: {2}|(?=\s*$))", re.MULTILINE)
_QUOTED = re.compile(r"\A\s*(?:> ?[^\n]*(?:\n|\Z))+\s*")


def _read_markdown(intake: Intake) -> Iterator[History]:
    """Read ``chat.md`` of signal-export."""
    lines = [line.rstrip("\r") for _, line in intake.text_lines()]
    heads = [(i, head) for i, line in enumerate(lines) if (head := _MARKDOWN.fullmatch(line))]
    sessions = _plain_sessions(intake)
    for (start, head), end in zip(heads, [*(i for i, _ in heads[1:]), len(lines)], strict=True):
        where = f"{intake.name}, line {start + 1}"
        text, quotes = "\n".join([head[3], *lines[start + 1 : end]]), 0
        if not head[3].strip():  # a quote is on lines of its own
            text, quotes = _QUOTED.subn("", text)
        text, reactions = _REACTIONS.subn("", text)
        intake.notes[QUOTES] += quotes
        intake.notes["reactions left out"] += reactions
        files = [file_named(each) for each in _MEDIA.findall(text)]
        signs = [a or b for a, b in _STICKER.findall(text)]
        stickers = ["a sticker" if each == "sticker" else f"the sticker {each}" for each in signs]
        text = storable(_STICKER.sub("", _MEDIA.sub("", text)).strip())
        shared = storable(", ".join((*files, *stickers)))
        name = (intake.options.speaker or _ME) if head[2] == _ME else head[2]
        if text or shared:
            with intake.catching():
                at = intake.iso_date(head[1], where)
                yield from sessions.add(Entry(where, "user", name, text, shared, at=at))
        else:
            intake.notes["deleted messages, calls and empty messages left out"] += 1
    yield from sessions.end()


FORMAT = format_named("signal", _read, _sniff)


def _is_markdown(intake: Intake) -> bool:
    return intake.source.suffix == ".md" and bool(_MARKDOWN.fullmatch(intake.lines[0]))


def _is_text(intake: Intake) -> bool:
    named = intake.lines[0].startswith("Conversation: ")
    return _is_markdown(intake) or (named and any(x.startswith("Type: ") for x in intake.lines))


def _read_text(intake: Intake) -> Iterator[History]:
    return (_read_markdown if _is_markdown(intake) else _read_sigtop)(intake)


SIGTOP = format_named("sigtop", _read_text, _is_text)
