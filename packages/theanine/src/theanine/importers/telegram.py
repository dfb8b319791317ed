"""Telegram's export, ``result.json`` of Telegram Desktop: one chat or the whole account.

One chat is ``{"name", "type", "id", "messages": [{"id", "type": "message", "date_unixtime", "from",
"from_id", "text", "photo", "file", "media_type"}]}``; the account is ``{"personal_information",
"chats": {"list": [chat, …]}, "left_chats": …, "stories": …}``.

Sources: joweich/chat-miner ``chatminer/chatparsers.py`` and ``test/telegram``. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import cast

from theanine.importers.base import Entry, Intake, format_named
from theanine.importers.folder import Folder
from theanine.importers.json_stream import Place, select
from theanine.importers.schema import Object, as_object, is_object, objects_in, unpacked
from theanine.importers.sessions import chat_sessions
from theanine.importers.table import finish, full_name, layout_named, name_of
from theanine.importers.web_pages import is_telegram_page, telegram_blocks
from theanine.importers.wording import wording
from theanine.importers.words import Words, file_named, note_unread, storable
from theanine.types import History

_LISTS = (("chats", "list", "*"), ("left_chats", "list", "*"))
_CHAT_FIELDS = (("name",), ("type",), ("id",), ("messages", "*"))
_STORIES = (("stories", "*"), ("stories", "list", "*"), ("stories", "stories", "*"))
_PATTERNS = (
    ("personal_information",),
    *((*chats, *field) for chats in ((), *_LISTS) for field in _CHAT_FIELDS),
    *_STORIES,
)
_SHARED = wording("telegram")
_MEDIA = _SHARED["types"]
_LAYOUT = layout_named("telegram")


def _read(intake: Intake) -> Iterator[History]:
    owner: Object = {}
    if intake.kind == "text":
        page = list(telegram_blocks(intake))
        title = next((name_of(each) for _, each in page if "name" in each), "") or intake.stem
        rows = ((("message",), each, where) for where, each in page if "type" in each)
        messages = _messages(intake, rows, owner)
        yield from chat_sessions(intake, intake.user_name(), title, messages)
        return
    rest = {k: v for k, v in intake.first.items() if k not in ("messages", "chats", "left_chats")}
    note_unread(intake.notes, rest, [str(rest.get("name"))], ("personal_information", "about"))
    for title, rows in groupby(_rows(intake, owner), lambda row: row[0]):
        placed = ((place, value, _where(intake, place)) for _, place, value in rows)
        messages = _messages(intake, placed, owner)
        yield from chat_sessions(intake, intake.user_name(_name(owner)), title, messages)


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
        if place[0] == "stories":
            if is_object(value) and "date" in value:
                yield "stories", place, value
            continue
        if (current := place[:3] if place[0] in ("chats", "left_chats") else ()) != chat:
            chat, about = current, {}
        if place[-2:-1] == ("messages",):
            title = str(about.get("name") or f"chat {about.get('id', '')}")
            yield storable(title.strip()), place, value
        else:
            about[str(place[-1])] = value


def _where(intake: Intake, place: Place) -> str:
    return f"{intake.name}, {'.'.join(map(str, place))}"


def _name(owner: Object) -> str:
    return full_name(owner, "first_name", "last_name")


def _messages(
    intake: Intake, rows: Iterable[tuple[Place, object, str]], owner: Object
) -> Iterator[Entry]:
    for place, value, where in rows:
        with intake.catching():
            message = as_object(value, where)
            if message.get("type") == "service":
                intake.notes["service messages left out"] += 1
                continue
            words = Words(intake.notes)
            words.texts.append(_text(message.get("text")) or _text(message.get("text_entities")))
            _share(words, message)
            mine = _name(owner) if place[0] == "stories" else ""
            name = name_of(message.get("from")) or mine or "Deleted account"
            yield from finish(intake, message, words, Entry(where, "user", name), _LAYOUT)


def _text(text: object) -> str:
    """Return a text: a string, or a list of strings and of objects with ``text``."""
    if isinstance(text, str):
        return text
    if is_object(text):
        return _text(text.get("text"))
    return (
        "".join(_text(each) for each in cast("list[object]", text))
        if isinstance(text, list)
        else ""
    )


def _share(words: Words, message: Object) -> None:
    """Add what was shared with a message."""
    shared = words.shared
    paths = (message.get(each) for each in ("photo", "file", "thumbnail", "contact_vcard"))
    words.passed += (path for path in paths if isinstance(path, str))
    kind = message.get("media_type")
    title = ", ".join(filter(None, (name_of(message.get(each)) for each in ("performer", "title"))))
    if message.get("photo"):
        shared.append("a picture")
    elif isinstance(kind, str) and kind in _MEDIA:
        emoji = message.get("sticker_emoji")
        about = emoji if isinstance(emoji, str) else f'"{title}"' if title else ""
        shared.append(f"{_MEDIA[kind]} {about}".strip())
    elif message.get("file"):
        shared.append(file_named(message.get("file_name")))
    shared += _place_and_contact(message)
    _share_lists(words, message)
    if isinstance(found := message.get("shared"), list):  # of a web page
        shared += [each for each in cast("list[object]", found) if isinstance(each, str)]
    if isinstance(author := message.get("forwarded_from"), str):
        shared.append(f"a message forwarded from {author}")


def _share_lists(words: Words, message: Object) -> None:
    """Add polls, invoices and the like, with their items."""
    shared = words.shared
    for name, what in _SHARED["fields"].items():
        if value := unpacked(packed := message.get(name)):
            words.passed += [packed] if isinstance(packed, str) else []  # as invoices are
            label = _titled(what, _text(value.get("question") or value.get("title")))
            items = objects_in(value.get("answers") or value.get("items") or value.get("options"))
            listed = "; ".join(text for each in items if (text := _text(each.get("text"))))
            if listed:
                shared.append(f"{label}: {listed}")
            elif not words.share(label, value, ("question", "title")):
                shared.append(label)


def _place_and_contact(message: Object) -> Iterator[str]:
    if is_object(place := message.get("location_information")):
        at = ",".join(str(place[each]) for each in ("latitude", "longitude") if each in place)
        named = (message.get("place_name"), message.get("address"), at)
        yield _titled("place", ", ".join(filter(None, map(name_of, named))))
    if is_object(contact := message.get("contact_information")):
        known = (contact.get(each) for each in ("first_name", "last_name", "phone_number"))
        yield _titled("contact", " ".join(str(each) for each in known if each))


def _titled(what: str, title: str) -> str:
    return f'the {what} "{title}"' if title else f"a {what}"


def _page(name: str) -> tuple[str, int]:
    """Return the folder and the number of a page, in whose order they are read."""
    folder, _, file = name.rpartition("/")
    return folder, int(re.sub(r"\D", "", file) or 1)


def _pick(folder: Folder) -> Sequence[str]:
    return folder.select("result.json") or sorted(folder.select("messages*.html"), key=_page)


FORMAT = format_named("telegram", _read, is_telegram_page, _pick)
