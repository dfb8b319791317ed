"""Chats as text in which a line with time and name stands above each message.

The rows of ``formats.toml`` say how such a line looks in the files of QQ, of tools for WeChat and
of DiscordChatExporter, and in what is copied from Telegram Desktop and Discord. Which of day and
month comes first is found over the whole file.

Sources: ChatLab ``packages/parser/src/browser/qq.test.ts``, Tyrrrz/DiscordChatExporter
``PlainTextMessageWriter.cs``. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, tzinfo
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

from theanine.importers.base import ZONELESS, Entry, Intake, format_named
from theanine.importers.chat_lines import shared_in
from theanine.importers.dates import check_date
from theanine.importers.schema import require_storable
from theanine.importers.sessions import chat_sessions
from theanine.importers.wording import read_data
from theanine.importers.words import file_named, quoted
from theanine.importers.written_dates import find_clock, find_date, offset_of, part_of_day
from theanine.types import History

_ROWS: Sequence[Mapping[str, Any]] = read_data("formats.toml")["chat-text"]["rows"]
_SECTION = re.compile(r"^\{([A-Z][A-Za-z ]{2,20})\}$", re.MULTILINE)
_REACTIONS = "reactions left out"


def _row(lines: Sequence[str]) -> Mapping[str, Any] | None:
    """Return the row of a text by its first lines; None if it is no chat of this kind."""
    for row in _ROWS:
        heads = [i for i, line in enumerate(lines) if _head(row, line)]
        # Lines that have nothing below are of a log.
        bare = sum(b == a + 1 for a, b in pairwise(heads)) if "first" not in row else 0
        if bare * 2 >= len(heads) > 0:
            continue
        if heads and re.fullmatch(row.get("first", row["head"]), lines[0]):
            return row
    return None


def _head(row: Mapping[str, Any], line: str) -> re.Match[str] | None:
    head = re.fullmatch(row["head"], line.rstrip())
    return head if head and _time(head["time"], None) else None


def _time(text: str, zone: tzinfo | None, *, swapped: bool = False) -> datetime | None:
    """Return a date with its time of day; None if it is none, with slashes as Americans do."""
    found = find_date(text)
    if found is None or found.year is None:
        return None
    start, end = found.span
    clock = find_clock(text[end:]) or find_clock(text[:start])
    american = "/" in text[start:end] and any(map(part_of_day, text[end:].split()))
    found = found.swapped if found.swappable and american != swapped else found
    day = date(found.year or 0, found.month, found.day)
    return datetime.combine(day, clock, offset_of(text) or zone) if clock else None


def _read(intake: Intake) -> Iterator[History]:
    row = _row(intake.lines)
    if row is not None:
        chat = require_storable(intake.stem, intake.name)
        yield from chat_sessions(intake, intake.user_name(), chat, _messages(intake, row))


def _messages(intake: Intake, row: Mapping[str, Any]) -> Iterator[Entry]:
    text = re.sub(row.get("tail", r"\Z"), "", intake.source.text().replace("\r\n", "\n"))
    lines = text.split("\n")
    heads = [(i, head) for i, line in enumerate(lines) if (head := _head(row, line))]
    before = [line for line in lines[: heads[0][0] if heads else None] if line.strip()]
    intake.notes["lines before the first message left out"] += len(before)
    written = [head["time"] for _, head in heads]
    zone = intake.options.local
    orders = [[_time(each, zone, swapped=swapped) for each in written] for swapped in (False, True)]
    falls = [sum(bool(a and b and a > b) for a, b in pairwise(order)) for order in orders]
    if falls[0] == falls[1] and orders[0] != orders[1]:
        intake.notes["files whose dates could also have month and day the other way round"] += 1
    ends = [i for i, _ in heads[1:]] + [len(lines)]
    for (i, head), end, at in zip(heads, ends, orders[falls[1] < falls[0]], strict=True):
        where, name = f"{intake.name}, line {i + 1}", head["name"].strip()
        words, shared = _content(intake, "\n".join(lines[i + 1 : end]).strip(), row)
        if re.fullmatch(row.get("system", r"\Z"), name):
            intake.notes["system lines left out"] += 1
        elif not words and not shared:
            intake.notes["empty messages left out"] += 1
        elif at:
            intake.notes[ZONELESS] += intake.options.zone is None and at.tzinfo is zone
            with intake.catching():
                yield Entry(where, "user", name, words, shared, at=check_date(at, where))


def _content(intake: Intake, text: str, row: Mapping[str, Any]) -> tuple[str, str]:
    """Return a message's words, and what its sections say that was shared."""
    kinds: Mapping[str, str] = row.get("sections", {})
    words, *sections = _SECTION.split(text) if kinds else (text,)
    words, attachment = shared_in(words.strip())
    shared = [attachment] if attachment else []
    for name, body in zip(sections[::2], sections[1::2], strict=True):
        lines = [line.strip() for line in body.split("\n") if line.strip()]
        if kinds.get(name) == _REACTIONS:
            intake.notes[_REACTIONS] += 1
        elif kinds.get(name) == "a file":
            shared += [file_named(PurePosixPath(line.partition("?")[0]).name) for line in lines]
        else:
            shared.append(quoted(kinds.get(name, "something"), lines))
    return words, ", ".join(shared)


FORMAT = format_named("chat-text", _read, lambda intake: _row(intake.lines) is not None)
