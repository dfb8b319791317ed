"""Gemini's and Assistant's activity from Google Takeout: ``MyActivity.json`` or ``.html``.

``[{"header": "Gemini Apps", "title": "Prompted …", "time", "safeHtmlItem": [{"html"}], "details":
[{"url"}], "attachedFiles"}]``, newest first: each entry is a prompt and its answer. The words that
introduce a prompt are those with which most titles of the file begin or end, in whatever language;
of a few titles, those before a colon. Activities that are no prompts are the assistant's if they
have an answer. Assistant has its answer in ``subtitles``, and what was said also in the address of
a search; in its page, the answer is the lines below.

Sources: AlexArchitect-Dev/gemini-takeout-refinery, jetpack3331/ai-chat-history-manager
``GEMINI.md``. Never seen real.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import cast
from urllib.parse import parse_qs, urlsplit

from theanine.importers.base import Entry, Format, Intake, format_named
from theanine.importers.folder import Folder
from theanine.importers.html_text import html_to_text
from theanine.importers.schema import Object, is_object, objects_in
from theanine.importers.sessions import ChatSessions
from theanine.importers.table import finish, layout_named
from theanine.importers.web_pages import activity_cells, product_of_page
from theanine.importers.wording import read_data
from theanine.importers.words import Words, file_named, strings
from theanine.types import History

_PROMPTED = re.compile(r"(?:Prompted|Asked|Said)\s+(?=\S)")
_BEFORE_COLON = re.compile(r"[^\n:：]{1,40}?\s?[:：]\s+(?=\S)")
_ENGLISH = re.compile(r"(?:Prompted|Asked|Said|Used|Created|Gave|Generated|Viewed|Selected)\b")
_CONVERSATION = re.compile(r"https://gemini\.google\.com/app/([0-9a-z]+)")
_ACTIVITY = re.compile(r"a[ckt]{1,2}[iy][vw]|アクティビティ|活动|活動", re.IGNORECASE)
_MOST = 0.6
_MAX_AROUND = 25
_LAYOUT = layout_named("gemini")
_LABELS = ("header", "products", "activityControls")


@dataclass(frozen=True, slots=True)
class _Wording:
    """The words of an activity's title around the prompt, in the language of the account."""

    before: str = ""
    after: str = ""

    def prompt(self, title: str) -> str | None:
        """Return the prompt of a title; None if it is another activity."""
        if match := _PROMPTED.match(title):
            return title[match.end() :]
        if _ENGLISH.match(title):
            return None
        if self.before or self.after:
            if not (title.startswith(self.before) and title.endswith(self.after)):
                return None
            return title[len(self.before) : len(title) - len(self.after)].strip()
        return _BEFORE_COLON.sub("", title, count=1) or None


def _wording(titles: Sequence[str]) -> _Wording:
    """Return the words with which most titles begin and end."""
    if len(titles) < 3:
        return _Wording()
    before = _common(titles)
    after = _common([title[::-1] for title in titles])[::-1]
    if not any(c.isalpha() or c in '"”»」』' for c in after):  # most prompts are questions
        after = ""
    return _Wording(before, after)


def _common(titles: Sequence[str]) -> str:
    """Return the longest beginning, of whole words, that most titles have."""
    best = ""
    for length in range(1, 60):
        start, count = Counter(title[:length] for title in titles).most_common(1)[0]
        if count < max(3, _MOST * len(titles)) or len(start) < length:
            break
        if not start[-1].isalnum() or (not start[-1].isascii() and ord(start[-1]) > 0x2E7F):
            best = start
    return best


def _read(intake: Intake) -> Iterator[History]:
    trial = replace(intake, notes=Counter(), faults=[])  # which are found again
    wording = _wording([title for _, entry in _entries(trial) if (title := _title(entry))])
    conversation, sessions = "", _sessions(intake, intake.format)
    for where, entry in _entries(intake):
        with intake.catching():
            messages = list(_messages(intake, entry, wording, where))
            if not messages:
                continue
            links = (str(detail.get("url")) for detail in objects_in(entry.get("details")))
            links = (*links, str(entry.get("titleUrl")))
            found = next((m[1] for link in links if (m := _CONVERSATION.match(link))), "")
            if found != conversation:
                yield from sessions.end()
                conversation, sessions = found, _sessions(intake, found or intake.format)
            for message in messages:
                yield from sessions.add(message)
    yield from sessions.end()


def _entries(intake: Intake) -> Iterator[tuple[str, Object]]:
    cells = activity_cells(intake) if intake.kind == "text" else intake.records()
    for where, entry in cells:
        if intake.kind == "text" and intake.format == "google-assistant":
            title, *lines = str(entry["title"]).split("\n")
            entry |= {"title": title, "subtitles": [{"name": line} for line in lines]}
        yield where, entry


def _title(entry: Object) -> str:
    title = entry.get("title")
    is_answered = entry.get("safeHtmlItem") or entry.get("subtitles")
    return title.strip() if isinstance(title, str) and is_answered else ""


def _searched(entry: Object, title: str) -> str:
    """Return the words in the address of a search if a title has hardly more; else nothing."""
    with suppress(ValueError):
        for query in parse_qs(urlsplit(str(entry.get("titleUrl"))).query).get("q", ()):
            if query in title and len(title) - len(query) <= _MAX_AROUND:
                return query
    return ""


def _sessions(intake: Intake, chat: str) -> ChatSessions:
    return ChatSessions(intake, intake.user_name(), chat, either_order=True)


def _messages(intake: Intake, entry: Object, wording: _Wording, where: str) -> Iterator[Entry]:
    """Yield an entry's prompt and answer; nothing if it is another activity without one."""
    title = entry.get("title")
    title = title.strip() if isinstance(title, str) else ""
    parts = (item.get("html") for item in objects_in(entry.get("safeHtmlItem")))
    answer = html_to_text("\n".join(part for part in parts if isinstance(part, str)))
    lines = (item.get("name") for item in objects_in(entry.get("subtitles")))
    answer = answer or "\n".join(line for line in lines if isinstance(line, str)).strip()
    prompt = _searched(entry, title) or None
    if not prompt and title and (answer or _PROMPTED.match(title)):
        prompt = wording.prompt(title)
    if not prompt and not answer:
        intake.notes["activities that are no prompts left out"] += 1
        return
    if prompt:
        words = Words(intake.notes)
        words.texts.append(prompt)
        files = entry.get("attachedFiles")
        for file in cast("list[object]", files) if isinstance(files, list) else ():
            words.shared.append(file_named(file.get("name") if is_object(file) else file))
        labels = (text for each in _LABELS for _, text in strings(entry.get(each)))
        product = _product(intake.format)
        words.passed += (title, answer, *(text for text in labels if product.search(text)))
        asked = Entry(where, "user", intake.speaker_of("user"))
        yield from finish(intake, entry, words, asked, _LAYOUT)
    if answer:
        words = Words(intake.notes)
        words.texts += [answer] if prompt or not title else [title, answer]
        said = Entry(where, "assistant", intake.speaker_of("assistant"))
        about = {"time": entry.get("time")} if prompt else entry
        yield from finish(intake, about, words, said, _LAYOUT)


def _product(format: str) -> re.Pattern[str]:
    return re.compile(read_data("formats.toml")[format]["product"], re.IGNORECASE)


def _activity(name: str) -> Format:
    product = _product(name)

    def sniff(intake: Intake) -> bool:
        if intake.kind == "text":
            return product.search(product_of_page(intake)) is not None
        first = intake.first
        known = len({"header", "title", "time", "safeHtmlItem"} & first.keys()) >= 3
        of_gemini = name == "gemini" and "safeHtmlItem" in first
        is_product = product.search(str(first.get("header"))) is not None
        return intake.kind == "json" and known and (is_product or of_gemini)

    def pick(folder: Folder) -> Sequence[str]:
        names = [PurePosixPath(each) for each in folder.select("*.json", "*.html")]
        found = (each for each in names if _ACTIVITY.search(str(each)))
        return [str(each) for each in found if product.search(each.parent.name)]

    return format_named(name, _read, sniff, pick)


FORMATS = tuple(map(_activity, ("gemini", "google-assistant")))
