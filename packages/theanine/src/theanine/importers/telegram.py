"""Telegram's export, ``result.json`` of Telegram Desktop: one chat or the whole account.

One chat is ``{"name", "type", "id", "messages": [{"id", "type": "message", "date_unixtime", "from",
"from_id", "text", "photo", "file", "media_type"}]}``; the account is ``{"personal_information",
"chats": {"list": [chat, …]}, "left_chats": …}``. A text is a string or a list of strings and
objects with ``text``. Messages of the service are left out and counted, what was shared becomes an
attachment. The user is the account's owner, where the file names one.

Sources: joweich/chat-miner ``chatminer/chatparsers.py`` and ``test/telegram``. Never seen real.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby
from typing import cast

from theanine.errors import BadInput
from theanine.importers.base import ZONELESS, Format, Intake
from theanine.importers.chats import ChatMessage, chat_sessions
from theanine.importers.dates import epoch_time, iso_time
from theanine.importers.json_stream import Place, select
from theanine.importers.schema import Object, as_object, check, is_object, require_storable
from theanine.types import History

_LISTS = (("chats", "list", "*"), ("left_chats", "list", "*"))
_CHAT_FIELDS = (("name",), ("type",), ("id",), ("messages", "*"))
_PATTERNS = (
    ("personal_information",),
    *((*chats, *field) for chats in ((), *_LISTS) for field in _CHAT_FIELDS),
)
_MEDIA = {
    "voice_message": "a recording",
    "audio_file": "a recording",
    "video_message": "a video",
    "video_file": "a video",
    "animation": "a GIF",
    "sticker": "a sticker",
}


def _sniff(intake: Intake) -> bool:
    first = intake.first
    chats = first.get("chats")
    one_chat = isinstance(first.get("messages"), list) and {"type", "id"} <= first.keys()
    return intake.kind == "json" and (one_chat or (is_object(chats) and "list" in chats))


def _read(intake: Intake) -> Iterator[History]:
    owner: Object = {}
    for title, rows in groupby(_rows(intake, owner), lambda row: row[0]):
        messages = _messages(intake, ((place, value) for _, place, value in rows))
        yield from chat_sessions(intake, intake.user_name(_full_name(owner)), title, messages)
    yield intake.part(intake.user_name(_full_name(owner)))


def _rows(intake: Intake, owner: Object) -> Iterator[tuple[str, Place, object]]:
    """Yield each message with its chat's name and its place; fill in the account's owner.

    A chat's fields come before its messages.
    """
    about: Object = {}
    chat: Place | None = None
    for place, value in select(intake.source.stream(), intake.name, *_PATTERNS):
        if place == ("personal_information",):
            owner.update(value if is_object(value) else {})
            continue
        if (current := place[:3] if place[0] in ("chats", "left_chats") else ()) != chat:
            chat, about = current, {}
        if place[-2:-1] == ("messages",):
            title = str(about.get("name") or f"chat {about.get('id', '')}")
            yield require_storable(title.strip(), intake.name), place, value
        else:
            about[str(place[-1])] = value


def _full_name(owner: Object) -> str:
    names = (owner.get(part) for part in ("first_name", "last_name"))
    return " ".join(name.strip() for name in names if isinstance(name, str) and name.strip())


def _messages(intake: Intake, rows: Iterable[tuple[Place, object]]) -> Iterator[ChatMessage]:
    for place, value in rows:
        where = f"{intake.name}, {'.'.join(map(str, place))}"
        with intake.catching():
            message = as_object(value, where)
            if message.get("type", "message") != "message":
                intake.notes["service messages left out"] += 1
                continue
            text, attachment = _text(message, where), _attachment(message)
            if not text.strip() and not attachment:
                intake.notes["empty messages left out"] += 1
                continue
            speaker = message.get("from")
            if not isinstance(speaker, str) or not speaker.strip():
                speaker = "Deleted account"
            yield ChatMessage(
                at=_time(intake, message, where),
                speaker=require_storable(speaker.strip(), where),
                text=require_storable(text, where),
                attachment=require_storable(attachment, where),
                key=require_storable(str(message.get("id") or ""), where),
                where=where,
            )


def _text(message: Object, where: str) -> str:
    text = message.get("text", message.get("text_entities"))
    if isinstance(text, str):
        return text
    parts = check(list[object], text or [], f"{where}.text")
    texts = (part.get("text") if is_object(part) else part for part in parts)
    return "".join(each for each in texts if isinstance(each, str))


def _attachment(message: Object) -> str:
    shared: list[str] = []
    kind, file = message.get("media_type"), message.get("file_name")
    poll = message.get("poll")
    if message.get("photo"):
        shared.append("a picture")
    elif isinstance(kind, str) and kind in _MEDIA:
        emoji = message.get("sticker_emoji")
        shared.append(f"{_MEDIA[kind]} {emoji}" if isinstance(emoji, str) else _MEDIA[kind])
    elif message.get("file"):
        shared.append(f'the file "{file}"' if isinstance(file, str) else "a file")
    elif message.get("location_information"):
        shared.append("a place")
    elif message.get("contact_information"):
        shared.append("a contact")
    elif is_object(poll):
        shared.append(f'the poll "{poll.get("question")}"')
    if isinstance(author := message.get("forwarded_from"), str):
        shared.append(f"a message forwarded from {author}")
    return ", ".join(shared)


def _time(intake: Intake, message: Object, where: str) -> datetime:
    unix, date = message.get("date_unixtime"), message.get("date")
    if unix is not None:
        try:
            return epoch_time(float(cast("str", unix)), f"{where}.date_unixtime")
        except (TypeError, ValueError, OverflowError):
            raise BadInput("date_unixtime is no number of seconds; export again", where) from None
    at = iso_time(check(str, date, f"{where}.date"), f"{where}.date", intake.options.local)
    intake.notes[ZONELESS] += intake.options.zone is None
    return at


FORMAT = Format(
    name="telegram",
    sniff=_sniff,
    read=_read,
    pick=lambda folder: folder.select("result.json"),
)
