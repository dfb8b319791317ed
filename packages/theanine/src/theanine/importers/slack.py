"""Slack's export of a workspace: the zip archive as it comes, or its folder.

``users.json``, ``channels.json``, ``groups.json``, ``mpims.json`` and ``dms.json`` list people and
conversations; each conversation has a folder, named after the channel or the id of the direct
messages, with a file a day: ``[{"type": "message", "user", "text", "ts", "subtype"?, "files"?}]``.

Sources: hfaran/slack-export-viewer ``slackviewer/reader.py``, ``message.py``, ``user.py``. Never
seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import cast

from theanine.errors import BadInput
from theanine.importers.base import Entry, Intake, format_named
from theanine.importers.folder import Folder
from theanine.importers.html_text import html_to_text
from theanine.importers.json_stream import ITEMS, select
from theanine.importers.schema import (
    Object,
    as_object,
    check,
    get,
    is_object,
    objects_in,
)
from theanine.importers.sessions import chat_sessions
from theanine.importers.table import finish, first_of, layout_named, plain_text
from theanine.importers.wording import wording
from theanine.importers.words import Words, note_unread, quoted, said_in, storable, strings
from theanine.types import History

_LISTS = ("channels.json", "groups.json", "mpims.json", "dms.json")
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")
_OURS = frozenset({None, "thread_broadcast", "me_message", "file_share", "reply_broadcast"})
_LAYOUT = layout_named("slack")
_APP = "\0app"
"""Suffix that marks the names of apps in the list of people; it has a NUL, so no name ends so."""
_FIELDS = wording("fields")
_WRITTEN = ("space", "post", "email")
"""Kinds of files whose preview is HTML; that of a snippet is what was pasted."""
_SAID_IN_BLOCKS = frozenset(_FIELDS["in_slack_blocks"])
_AUTHOR = re.compile(rb'"user": ?"(\w+)"')
_LINK = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")


def _read(intake: Intake) -> Iterator[History]:
    folder = intake.folder
    if folder is None:
        raise BadInput("a workspace's export is a zip archive or a folder; name that", intake.name)
    root = intake.source.name.removesuffix("users.json")
    people: dict[str, str] = {}
    for user in _objects(intake, folder, f"{root}users.json"):
        name = _person(user)
        people[str(user.get("id"))] = name + (_APP if user.get("is_bot") is True else "")
        note_unread(intake.notes, user, [name])
    intake.people |= {name for name in people.values() if not name.endswith(_APP)}
    for id, name in _others(folder, root, people).items():
        people.setdefault(id, name)
    days: dict[str, list[str]] = {}
    for file in folder.names:
        name, _, day = file.removeprefix(root).rpartition("/")
        if file.startswith(root) and _DAY.fullmatch(day):
            days.setdefault(name, []).append(file)
    intake.notes["days outside of a conversation's folder left out"] += len(days.pop("", ()))
    listed: dict[str, str] = {}
    names = dict(people)
    for id, name, title in _conversations(intake, folder, root, people):
        listed[name] = title
        names[id] = title.removeprefix("#")
    unlisted = {name: f"#{name}" for name in sorted(days.keys() - listed)}
    for name, title in {**listed, **unlisted}.items():
        messages = _messages(intake, folder, days.get(name, ()), names)
        yield from chat_sessions(intake, intake.user_name(), title, messages)


def _objects(intake: Intake, folder: Folder, name: str) -> Iterator[Object]:
    if name not in folder.names:
        return
    with folder.open(name) as source:
        for (index,), value in select(source.stream(), name, ITEMS):
            with intake.catching():
                yield as_object(value, f"{name}, [{index}]")


def _person(user: Object) -> str:
    profile = user.get("profile")
    about = {**user, **profile} if is_object(profile) else user
    names = (about.get(field) for field in ("display_name", "real_name", "name", "id"))
    return next(
        (name.strip() for name in names if isinstance(name, str) and name.strip()), "someone"
    )


def _others(folder: Folder, root: str, people: Mapping[str, str]) -> dict[str, str]:
    """Return the names of people who aren't listed any more, as their own messages have them."""
    found: dict[str, str] = {}
    for file in folder.names:
        if not (file.startswith(root) and _DAY.fullmatch(file.rpartition("/")[2])):
            continue
        with suppress(BadInput), folder.open(file) as source:
            if {each.decode() for each in _AUTHOR.findall(source.raw().read())} <= people.keys():
                continue
            for _, value in select(source.stream(), file, ITEMS):
                if is_object(profile := get(value, "user_profile")):
                    found.setdefault(str(get(value, "user")), _person(profile))
    return found


def _conversations(
    intake: Intake, folder: Folder, root: str, people: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    """Yield the id, the folder and the title of each conversation."""
    for file in _LISTS:
        for each in _objects(intake, folder, f"{root}{file}"):
            name, id = each.get("name"), str(each.get("id"))
            note_unread(intake.notes, each, [str(name)])
            if file == "dms.json" or not isinstance(name, str):
                members = check(list[str], each.get("members") or [], f"{file}, {id}")
                title = " and ".join(people.get(m, m).removesuffix(_APP) for m in members)
                yield id, id, title or id
            else:
                yield id, name, f"#{name}"


def _messages(
    intake: Intake, folder: Folder, days: Sequence[str], names: Mapping[str, str]
) -> Iterator[Entry]:
    for day in days:
        with folder.open(day) as source:
            for (index,), value in select(source.stream(), day, ITEMS):
                where = f"{day}, [{index}]"
                with intake.catching():
                    yield from _message(intake, as_object(value, where), names, where)


def _message(
    intake: Intake, message: Object, names: Mapping[str, str], where: str
) -> Iterator[Entry]:
    subtype, user = message.get("subtype"), message.get("user")
    by_app = bool(message.get("bot_id")) and not isinstance(user, str)
    if by_app or subtype == "bot_message" or names.get(str(user), "").endswith(_APP):
        intake.notes["messages of apps left out"] += 1
    elif message.get("type") not in ("message", None) or not (
        subtype is None or (isinstance(subtype, str) and subtype in _OURS)
    ):
        intake.notes["service messages left out"] += 1
    else:
        words = Words(intake.notes)
        text = message.get("text")
        words.texts.append(_plain(text, names) if isinstance(text, str) else "")
        if _has_more(blocks := _blocks(message.get("blocks"), names), words.text):
            words.texts.append(blocks)
        for each in objects_in(message.get("attachments")):
            _share(words, each, names)
        for file in objects_in(message.get("files")):
            what = _file(file)
            if file.get("mode") in _WRITTEN and isinstance(preview := file.get("preview"), str):
                file = {**file, "preview": html_to_text(preview)}
            if not words.share(what, file, _FIELDS["of_slack_files"]):
                words.shared.append(what)
        profile = message.get("user_profile")
        name = names.get(str(user), "").removesuffix(_APP)
        name = name or (_person(profile) if is_object(profile) else str(user or "someone"))
        words.passed += (text for _, text in strings([profile, message.get("root")]))
        entry = Entry(where, "user", storable(name))
        yield from finish(intake, message, words, entry, _LAYOUT)


def _has_more(text: str, than: str) -> bool:
    """Return whether a text has words that another lacks."""
    return not set(re.findall(r"\w{2,}", text)) <= set(re.findall(r"\w{2,}", than))


def _share(words: Words, shared: Object, names: Mapping[str, str]) -> None:
    """Add a message that was shared, or the preview of a link."""
    is_message = shared.get("is_msg_unfurl") or shared.get("is_share") or "message_blocks" in shared
    said = [_plain(text, names) for text in said_in(shared, _FIELDS["of_slack_attachments"])]
    blocks = _blocks(shared.get("blocks") or shared.get("message_blocks"), names)
    said += [blocks] if _has_more(blocks, "\n".join(said)) else []
    if not said and isinstance(fallback := shared.get("fallback"), str):
        said = [_plain(fallback, names)]
    repeated = (shared.get(each) for each in ("fallback", "footer"))
    words.passed += (each for each in repeated if isinstance(each, str))
    if said:
        words.shared.append(quoted("a message" if is_message else "a link", said))


def _blocks(value: object, names: Mapping[str, str]) -> str:
    """Return the words of Slack's blocks, such as rich text, sections and headers."""
    if isinstance(value, list):
        items = cast("list[object]", value)
        return "\n".join(text for each in items if (text := _blocks(each, names)))
    if not is_object(value):
        return ""
    kind = str(value.get("type") or "")
    if kind in ("rich_text_section", "rich_text_preformatted", "rich_text_quote"):
        return "".join(_element(each, names) for each in objects_in(value.get("elements")))
    if kind in ("rich_text", "rich_text_list", "context", "actions"):
        mark = "- " if kind == "rich_text_list" else ""
        lines = (_blocks(each, names) for each in objects_in(value.get("elements")))
        return "\n".join(f"{mark}{line}" for line in lines if line)
    if kind == "mrkdwn":
        return _plain(str(value.get("text") or ""), names)
    skipped = ("type", "block_id", "action_id", "style")
    inner = [_blocks(each, names) for key, each in value.items() if key not in skipped]
    said = [text for key, text in value.items() if isinstance(text, str) and key in _SAID_IN_BLOCKS]
    return "\n".join(dict.fromkeys(text for text in (*said, *inner) if text))


def _element(element: Object, names: Mapping[str, str]) -> str:
    """Return an element of rich text as plain text."""
    kind = element.get("type")
    if kind == "user":
        id = str(element.get("user_id"))
        return f"@{names.get(id, id).removesuffix(_APP)}"
    if kind == "usergroup":
        return f"@{element.get('usergroup_id')}"
    if kind == "broadcast":
        return f"@{element.get('range')}"
    if kind == "channel":
        id = str(element.get("channel_id"))
        return f"#{names.get(id, id)}"
    if kind == "emoji":
        return _emoji(element)
    found = first_of(element, ("text", "fallback", "url", "value"))
    return found if isinstance(found, str) else ""


def _emoji(element: Object) -> str:
    """Return an emoji by its code points, or by its name."""
    try:
        return "".join(chr(int(part, 16)) for part in str(element["unicode"]).split("-"))
    except (KeyError, ValueError, OverflowError):
        return f":{element.get('name')}:"


def _file(file: Object) -> str:
    name, kind = file.get("title") or file.get("name"), str(file.get("mimetype") or "")
    if not isinstance(name, str):
        return "a file"
    return f'the picture "{name}"' if kind.startswith("image/") else f'the file "{name}"'


def _plain(text: str, names: Mapping[str, str]) -> str:
    """Return Slack's markup as plain text: names for mentions, labels for links and dates."""

    def replaced(match: re.Match[str]) -> str:
        mark, target, label = match[1], match[2], match[3]
        if mark == "@":
            return f"@{label or names.get(target, target).removesuffix(_APP)}"
        if mark != "!":
            return f"{mark}{label or (names.get(target, target) if mark else target)}"
        name, _, id = target.partition("^")
        if name == "date":
            return label or id
        return f"@{(label or id or name).removeprefix('@')}"

    return plain_text(_LINK.sub(replaced, text), "entities")


def _pick(folder: Folder) -> Sequence[str]:
    """Return ``users.json`` of a folder with conversations."""
    return [
        name
        for name in folder.select("users.json")
        if any(name.removesuffix("users.json") + each in folder.names for each in _LISTS)
    ]


FORMAT = format_named(
    "slack", _read, lambda intake: bool(intake.folder and _pick(intake.folder)), _pick
)
