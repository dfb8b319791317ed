"""Chats of iMessage and SMS that imessage-exporter saved as text, a file a chat.

::

    May 17, 2024  5:29:42 PM (Read by you after 1 hour, 2 minutes)
    Me
    Did you wash the sails?
    Tapbacks:
        Loved by Bo

A date with words after it is a note of the app. Times are local.

Source: ReagentX/imessage-exporter ``imessage-exporter/src/exporters/txt``. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from theanine.importers.base import ZONELESS, Entry, Intake, format_named
from theanine.importers.dates import check_date
from theanine.importers.folder import Folder
from theanine.importers.schema import require_storable
from theanine.importers.sessions import chat_sessions
from theanine.importers.words import file_named
from theanine.importers.written_dates import written_time
from theanine.types import History

_AT = r"[A-Z][a-z]{2,8} {1,2}\d{1,2}, \d{4} {1,2}\d{1,2}:\d\d:\d\d [AP]M"
_HEADER = re.compile(rf"(?P<at>{_AT})(?: (?P<more>.*))?")
_RECEIPT = re.compile(r"\(Read by .*\)|")
_REPLY = re.compile(rf" +{_AT}.*")
_REACTIONS = re.compile(r"(?:Tapbacks|Reactions):")
_REACTION = re.compile(r"\s*(?:\S{1,20}|Sticker|Tapback) (?:by|from) \S.*")
_EDIT = re.compile(r"Edited .{1,80}? later: ?(?P<text>.*)")
_NOTES = re.compile(
    r"This message (?:responded to an earlier message\.|was deleted from the conversation!)|"
    r"Sent with (?:Confetti|Echo|Fireworks|Balloons|Heart|Lasers|Shooting Start?|Sparkles|"
    r"Spotlight|Slam|Loud|Gentle|Invisible Ink)"
)
_TAPBACKS = "tapbacks left out"
_FILE = re.compile(r"(?:[^\n]*/)[^\n/]{1,200}\.\w{2,5}|Attachment missing!")


def _read(intake: Intake) -> Iterator[History]:
    name = intake.user_name()
    chat = require_storable(intake.source.stem, intake.name)
    yield from chat_sessions(intake, name, chat, _messages(intake), either_order=True)


def _messages(intake: Intake) -> Iterator[Entry]:
    block: list[str] = []
    started, after_blank = 0, False
    for number, line in intake.text_lines():
        text = line.rstrip("\r")
        if block and (after_blank or _is_announced(block)) and _HEADER.fullmatch(text):
            yield from _message(intake, block, started)
            block = []
        if text.strip() and not block:
            started = number
        if text.strip() or block:
            block.append(text)
        after_blank = not text.strip()
    yield from _message(intake, block, started)


def _is_announced(block: Sequence[str]) -> bool:
    """Return whether a block is a note of the app, to which no blank line belongs."""
    header = _HEADER.fullmatch(block[0])
    return bool(len(block) == 1 and header and not _RECEIPT.fullmatch(header["more"] or ""))


def _message(intake: Intake, block: Sequence[str], number: int) -> Iterator[Entry]:
    where = f"{intake.name}, line {number}"
    header = _HEADER.fullmatch(block[0]) if block else None
    if not header:
        intake.notes["lines before the first message left out"] += bool(block)
        return
    if len(block) < 2 or not _RECEIPT.fullmatch(header["more"] or ""):
        intake.notes["service messages left out"] += 1
        return
    with intake.catching():
        text, attachment = _content(intake, block[2:])
        at = written_time(header["at"], intake.options.local)
        if not text and not attachment:
            intake.notes["empty messages left out"] += 1
        elif at:
            intake.notes[ZONELESS] += intake.options.zone is None
            name = block[1].strip() or "Unknown"
            yield Entry(where, "user", name, text, attachment, at=check_date(at, where))


def _content(intake: Intake, lines: Sequence[str]) -> tuple[str, str]:
    """Return the words of a message, and the files in it."""
    kept: list[str] = []
    files: list[str] = []
    aside = ""
    for i, line in enumerate(lines):
        is_reply = _REPLY.fullmatch(line) is not None
        within = not line.strip() or line.startswith("    ")
        if aside == _TAPBACKS:  # older versions don't indent them
            within = within or _REACTION.fullmatch(line) is not None
        if aside and not is_reply and within:
            continue
        aside = ""
        if _REACTIONS.fullmatch(line) and (
            any(each.startswith("    ") for each in lines[i + 1 :])
            or any(map(_REACTION.fullmatch, lines[i + 1 : i + 2]))
        ):
            aside = _TAPBACKS
        elif is_reply:
            aside = "copies of replies left out"
        elif _FILE.fullmatch(line):
            files.append(file_named("/" in line and PurePosixPath(line).name))
        elif edit := _EDIT.match(line):
            kept = [edit["text"]]
        elif not _NOTES.fullmatch(line):
            first = _HEADER.fullmatch(line)  # an edited message begins with its first words' time
            kept.append((first["more"] or "") if first else line)
        intake.notes[aside] += bool(aside)
    return "\n".join(kept).strip(), ", ".join(files)


def _sniff(intake: Intake) -> bool:
    # What the app announces, a line each, may stand before the first message.
    said = [line for line in intake.lines if not _is_announced([line])]
    return any(map(_HEADER.fullmatch, said[:4]))


def _pick(folder: Folder) -> Sequence[str]:
    return [name for name in folder.select("*.txt") if re.search(r"(?:^|/)\+?\d{5,}[^/]*$", name)]


FORMAT = format_named("imessage", _read, _sniff, _pick)
