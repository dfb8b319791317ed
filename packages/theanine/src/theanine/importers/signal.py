"""Chats exported from Signal Desktop.

Its own export is ``main.jsonl``, a line an object: ``{"account"}``, ``{"recipient": {"id", "self"
or "contact" or "group"}}``, ``{"chat": {"id", "recipientId"}}`` and ``{"chatItem": {"chatId",
"authorId", "dateSent", "standardMessage": {"text": {"body"}, "attachments"}}}``. The tool
signal-export writes a folder a chat with ``data.json``, a line a message: ``{"date", "sender",
"body", "attachments", …}``, in which the user is called *Me*. Messages that are neither words nor
something shared are left out and counted.

Sources: Cosmo697/signal-export-browser ``build_signal_db.py``, carderne/signal-export
``sigexport/models.py``. Never seen real.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import PurePosixPath

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake
from theanine.importers.chats import ChatMessage, ChatSessions
from theanine.importers.dates import epoch_time
from theanine.importers.schema import (
    Object,
    check,
    is_object,
    objects_in,
    require_storable,
)
from theanine.types import History

_ME = "Me"
_FRAMES = frozenset({"account", "recipient", "chat", "chatItem"})
_KINDS = {"image": "a picture", "video": "a video", "audio": "a recording"}


def _sniff(intake: Intake) -> bool:
    first = intake.first
    plain = {"date", "sender", "body", "attachments"} <= first.keys()
    frames = [
        record for record in intake.ahead if any(is_object(record.get(frame)) for frame in _FRAMES)
    ]
    return plain or any(record.keys() & {"recipient", "chatItem"} for record in frames)


def _read(intake: Intake) -> Iterator[History]:
    if {"date", "sender"} <= intake.first.keys():
        yield from _read_plain(intake)
        return
    people: dict[str, str] = {}
    chats: dict[str, str] = {}
    owner = _ME
    sessions: dict[str, ChatSessions] = {}
    for where, record in intake.records():
        with intake.catching():
            if is_object(account := record.get("account")):
                owner = _joined(account, "givenName", "familyName") or owner
            elif is_object(recipient := record.get("recipient")):
                people[str(recipient.get("id"))] = _person(
                    recipient, intake.options.speaker or owner
                )
            elif is_object(chat := record.get("chat")):
                chats[str(chat.get("id"))] = str(chat.get("recipientId"))
            elif is_object(item := record.get("chatItem")):
                id = str(item.get("chatId"))
                if id not in sessions:
                    title = require_storable(people.get(chats.get(id, ""), f"chat {id}"), where)
                    name = intake.user_name("" if owner == _ME else owner)
                    sessions[id] = ChatSessions(intake, name, title)
                for message in _message(intake, item, people, where):
                    yield from sessions[id].add(message)
    for each in sessions.values():
        yield from each.end()
    yield intake.part(intake.user_name("" if owner == _ME else owner))


def _joined(record: Object, *fields: str) -> str:
    values = (record.get(field) for field in fields)
    return " ".join(value.strip() for value in values if isinstance(value, str) and value.strip())


def _person(recipient: Object, owner: str) -> str:
    if "self" in recipient:
        return owner
    if is_object(group := recipient.get("group")):
        snapshot = group.get("snapshot")
        title = snapshot.get("title") if is_object(snapshot) else None
        return _joined(title, "title") if is_object(title) else f"group {recipient.get('id')}"
    contact = recipient.get("contact")
    if not is_object(contact):
        return f"recipient {recipient.get('id')}"
    return (
        _joined(contact, "systemGivenName", "systemFamilyName")
        or _joined(contact, "profileGivenName", "profileFamilyName")
        or str(contact.get("e164") or f"recipient {recipient.get('id')}")
    )


def _message(
    intake: Intake, item: Object, people: dict[str, str], where: str
) -> Iterator[ChatMessage]:
    standard = item.get("standardMessage")
    if not is_object(standard):
        intake.notes["service messages left out"] += 1
        return
    text = standard.get("text")
    body = text.get("body") if is_object(text) else None
    shared = [_attachment(each) for each in objects_in(standard.get("attachments"))]
    if not isinstance(body, str) or not body.strip():
        body = ""
    if not body and not shared:
        intake.notes["empty messages left out"] += 1
        return
    try:
        at = int(str(item.get("dateSent"))) / 1000
    except (ValueError, OverflowError):
        raise BadInput("dateSent is no number of milliseconds; export again", where) from None
    author = str(item.get("authorId"))
    yield ChatMessage(
        at=epoch_time(at, f"{where}.dateSent"),
        speaker=require_storable(people.get(author) or f"recipient {author}", where),
        text=require_storable(body, where),
        attachment=require_storable(", ".join(shared), where),
        where=where,
    )


def _attachment(each: Object) -> str:
    pointer = each.get("pointer")
    about = pointer if is_object(pointer) else each
    kind, name = str(about.get("contentType") or ""), about.get("fileName")
    known = _KINDS.get(kind.partition("/")[0])
    return known or (f'the file "{name}"' if isinstance(name, str) else "a file")


def _read_plain(intake: Intake) -> Iterator[History]:
    """Read ``data.json`` of signal-export; the chat is named after its folder."""
    folder = PurePosixPath(intake.name).parent.name
    if not folder and intake.source.path:
        folder = intake.source.path.resolve().parent.name
    sessions = ChatSessions(intake, intake.user_name(), folder or "chat")
    for where, record in intake.records():
        with intake.catching():
            body = check(str, record.get("body") or "", f"{where}.body").strip()
            names = [str(each.get("name")) for each in objects_in(record.get("attachments"))]
            if record.get("deleted") or record.get("call") or not (body or names):
                intake.notes["deleted messages, calls and empty messages left out"] += 1
                continue
            sender = check(str, record.get("sender"), f"{where}.sender")
            message = ChatMessage(
                at=_date(intake, record, where),
                speaker=require_storable(
                    (intake.options.speaker or _ME) if sender == _ME else sender, where
                ),
                text=require_storable(body, where),
                attachment=require_storable(
                    ", ".join(f'the file "{name}"' for name in names), where
                ),
                where=where,
            )
            yield from sessions.add(message)
    yield from sessions.end()
    yield intake.part(intake.user_name())


def _date(intake: Intake, record: Object, where: str) -> datetime:
    text = check(str, record.get("date"), f"{where}.date")
    return intake.iso_date(text, f"{where}.date")


FORMAT = Format(
    name="signal",
    sniff=_sniff,
    read=_read,
    pick=lambda folder: folder.select("main.jsonl") or folder.select("*/data.json"),
    kind="lines",
)
