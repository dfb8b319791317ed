"""Slack's export of a workspace: the zip archive as it comes, or its folder.

``users.json``, ``channels.json``, ``groups.json``, ``mpims.json`` and ``dms.json`` list people and
conversations; each conversation has a folder, named after the channel or the id of the direct
messages, with a file a day: ``[{"type": "message", "user", "text", "ts", "subtype"?, "files"?}]``.
Mentions get their names back. Messages of apps, and of Slack about who joined or what was renamed,
are left out and counted. The export doesn't say who asked for it: ``--speaker`` names the user.

Sources: hfaran/slack-export-viewer ``slackviewer/reader.py``, ``message.py``, ``user.py``. Never
seen real.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from theanine.errors import BadInput
from theanine.importers.base import Format, Intake
from theanine.importers.chats import ChatMessage, chat_sessions
from theanine.importers.dates import epoch_time
from theanine.importers.folder import Folder
from theanine.importers.json_stream import ITEMS, select
from theanine.importers.schema import (
    Object,
    as_object,
    check,
    is_object,
    objects_in,
    require_storable,
)
from theanine.types import History

_LISTS = ("channels.json", "groups.json", "mpims.json", "dms.json")
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")
_OURS = frozenset({None, "thread_broadcast", "me_message", "file_share", "reply_broadcast"})
_LINK = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")


def _read(intake: Intake) -> Iterator[History]:
    folder = intake.folder
    if folder is None:
        raise BadInput("a workspace's export is a zip archive or a folder; name that", intake.name)
    root = intake.source.name.removesuffix("users.json")
    people = {
        str(user.get("id")): _person(user) for user in _objects(intake, folder, f"{root}users.json")
    }
    conversations = dict(_conversations(intake, folder, root, people))
    for name, title in conversations.items():
        days = [
            file
            for file in folder.names
            if file.startswith(f"{root}{name}/") and _DAY.fullmatch(PurePosixPath(file).name)
        ]
        messages = _messages(intake, folder, days, people)
        yield from chat_sessions(intake, intake.user_name(), title, messages)
    yield intake.part(intake.user_name())


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


def _conversations(
    intake: Intake, folder: Folder, root: str, people: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the folder and the title of each conversation."""
    for file in _LISTS:
        for each in _objects(intake, folder, f"{root}{file}"):
            name, id = each.get("name"), str(each.get("id"))
            if file == "dms.json" or not isinstance(name, str):
                members = check(list[str], each.get("members") or [], f"{file}, {id}")
                yield id, " and ".join(people.get(each, each) for each in members) or id
            else:
                yield name, f"#{name}"


def _messages(
    intake: Intake, folder: Folder, days: Sequence[str], people: Mapping[str, str]
) -> Iterator[ChatMessage]:
    for day in days:
        with folder.open(day) as source:
            for (index,), value in select(source.stream(), day, ITEMS):
                where = f"{day}, [{index}]"
                with intake.catching():
                    yield from _message(intake, as_object(value, where), people, where)


def _message(
    intake: Intake, message: Object, people: Mapping[str, str], where: str
) -> Iterator[ChatMessage]:
    subtype = message.get("subtype")
    if message.get("bot_id") or subtype == "bot_message":
        intake.notes["messages of apps left out"] += 1
    elif message.get("type") != "message" or not (
        subtype is None or (isinstance(subtype, str) and subtype in _OURS)
    ):
        intake.notes["service messages left out"] += 1
    else:
        text = message.get("text")
        text = _plain(text, people) if isinstance(text, str) else ""
        names = [_file(file) for file in objects_in(message.get("files"))]
        if not text.strip() and not names:
            intake.notes["empty messages left out"] += 1
            return
        user, profile = str(message.get("user")), message.get("user_profile")
        speaker = people.get(user) or (_person(profile) if is_object(profile) else user)
        try:
            ts = float(str(message.get("ts")))
        except ValueError:
            raise BadInput("ts is no number of seconds; export again", where) from None
        yield ChatMessage(
            at=epoch_time(ts, f"{where}.ts"),
            speaker=require_storable(speaker, where),
            text=require_storable(text, where),
            attachment=require_storable(", ".join(names), where),
            key=str(message.get("ts")),
            where=where,
        )


def _file(file: Object) -> str:
    name, kind = file.get("title") or file.get("name"), str(file.get("mimetype") or "")
    if not isinstance(name, str):
        return "a file"
    return f'the picture "{name}"' if kind.startswith("image/") else f'the file "{name}"'


def _plain(text: str, people: Mapping[str, str]) -> str:
    """Return Slack's markup as plain text: names for mentions, labels for links."""

    def replaced(match: re.Match[str]) -> str:
        mark, target, label = match[1], match[2], match[3]
        if mark == "@":
            return f"@{label or people.get(target, target)}"
        return f"{'@' if mark == '!' else mark}{label or target}"

    return html.unescape(_LINK.sub(replaced, text))


def _pick(folder: Folder) -> Sequence[str]:
    """Return ``users.json`` of a folder with conversations."""
    return [
        name
        for name in folder.select("users.json")
        if any(name.removesuffix("users.json") + each in folder.names for each in _LISTS)
    ]


FORMAT = Format(
    name="slack",
    sniff=lambda intake: bool(intake.folder and _pick(intake.folder)),
    read=_read,
    pick=_pick,
)
