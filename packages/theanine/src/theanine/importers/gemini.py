"""Gemini's activity from Google Takeout: ``My Activity/Gemini Apps/MyActivity.json``.

``[{"header": "Gemini Apps", "title": "Prompted …", "time", "safeHtmlItem": [{"html"}], "details":
[{"url"}], "attachedFiles"}]``, newest first: each entry is a prompt and its answer. Entries belong
to a conversation by the link in ``details`` where there is one; a pause of three hours starts a
session. In other languages than English the prompt's introduction is kept, as its words aren't
known. Activities that are no prompts are left out and counted. Takeout must be asked for JSON, its
HTML isn't read.

Sources: AlexArchitect-Dev/gemini-takeout-refinery, jetpack3331/ai-chat-history-manager
``GEMINI.md``. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from theanine.importers.base import Format, Intake
from theanine.importers.chats import ChatMessage, ChatSessions
from theanine.importers.dates import iso_time
from theanine.importers.html_text import html_to_text
from theanine.importers.schema import Filled, Item, Text, check, objects_in, require_storable
from theanine.types import History

_PROMPTED = re.compile(r"(?:Prompted|Asked|Said)\s+(?=\S)")
_CONVERSATION = re.compile(r"https://gemini\.google\.com/app/([0-9a-z]+)")


class _Entry(Item):
    title: Text | None = None
    time: Filled
    safeHtmlItem: object = None  # noqa: N815 (its name there)
    details: object = None
    attachedFiles: list[object] | None = None  # noqa: N815


def _read(intake: Intake) -> Iterator[History]:
    conversation, sessions = "", _sessions(intake, "gemini")
    for where, record in intake.records():
        with intake.catching():
            entry = check(_Entry, record, where)
            messages = list(_messages(intake, entry, where))
            if not messages:
                continue
            links = (str(detail.get("url")) for detail in objects_in(entry.details))
            found = next((m[1] for link in links if (m := _CONVERSATION.match(link))), "")
            if found != conversation:
                yield from sessions.end()
                conversation, sessions = found, _sessions(intake, found or "gemini")
            for message in messages:
                yield from sessions.add(message)
    yield from sessions.end()
    yield intake.part(intake.user_name())


def _sessions(intake: Intake, chat: str) -> ChatSessions:
    return ChatSessions(intake, intake.user_name(), chat, either_order=True)


def _messages(intake: Intake, entry: _Entry, where: str) -> Iterator[ChatMessage]:
    """Yield an entry's prompt and answer; nothing if it is another activity."""
    title = (entry.title or "").strip()
    parts = (item.get("html") for item in objects_in(entry.safeHtmlItem))
    answer = html_to_text("\n".join(part for part in parts if isinstance(part, str)))
    if not answer and not _PROMPTED.match(title):
        intake.notes["activities that are no prompts left out"] += 1
        return
    at = iso_time(entry.time, f"{where}.time", intake.options.local)
    names = ", ".join(f'the file "{name}"' for name in entry.attachedFiles or [])
    if prompt := _PROMPTED.sub("", title, count=1):
        yield ChatMessage(
            at=at,
            speaker=intake.speaker_of("user"),
            text=prompt,
            attachment=require_storable(names, where),
            where=where,
        )
    if answer:
        yield ChatMessage(
            at=at,
            speaker=intake.speaker_of("assistant"),
            text=require_storable(answer, where),
            role="assistant",
            where=where,
        )


FORMAT = Format(
    name="gemini",
    sniff=lambda intake: (
        intake.kind == "json"
        and {"header", "title", "time"} <= intake.first.keys()
        and ("Gemini" in str(intake.first["header"]) or "safeHtmlItem" in intake.first)
    ),
    read=_read,
    pick=lambda folder: [
        name for name in folder.select("MyActivity.json", "My Activity.json") if "Gemini" in name
    ],
)
