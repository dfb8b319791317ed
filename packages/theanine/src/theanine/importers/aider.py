"""Aider's ``.aider.chat.history.md``: what was asked is in headings of four signs.

::

    # aider chat started at 2024-05-08 13:56:00
    > Aider v0.48.1                                what the program says
    #### Add the winter price.                     the user, a line a heading
    It is in prices.py now.                        the model

Each start is a session. Answers to the program's questions are quoted as the program's words are.

Source: Aider-AI/aider ``aider/io.py``. Never seen real.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from theanine.importers.base import Entry, Intake, format_named
from theanine.importers.dates import DEFAULT_START, positions
from theanine.importers.markup import without_markup
from theanine.importers.sessions import SYNTHETIC, SessionBuilder
from theanine.importers.words import REPORTS
from theanine.types import History, Role

_START = re.compile(r"# aider chat started at (?P<date>\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?).*")
_ASKED = re.compile(r"#### ?(?P<text>.*)")
_COMMAND = re.compile(r"/\w[\w-]*(?: [^\n]*)?")
_SPOKEN = re.compile(r"/(?:ask|code|architect|chat-mode \w+)\s+(?=\S)")
"""Commands whose words are meant for the model."""


def _read(intake: Intake) -> Iterator[History]:
    start, lines = "", list[tuple[int, str]]()
    for number, line in intake.text_lines():
        line = line.removesuffix("\r")
        if begun := _START.fullmatch(line):
            yield from _session(intake, start, lines)
            start, lines = begun["date"], []
        else:
            lines.append((number, line))
    yield from _session(intake, start, lines)


def _session(intake: Intake, start: str, lines: list[tuple[int, str]]) -> Iterator[History]:
    entries = [entry for entry in _entries(intake, lines) if entry.text]
    if not entries:
        return
    session = SessionBuilder(f"{intake.stem}/{start}" if start else intake.stem, intake.notes)
    at = intake.iso_date(start, intake.name) if start else intake.source.modified
    dated = at is not None
    times = positions(at or DEFAULT_START, len(entries))
    intake.notes[SYNTHETIC] += not dated
    for entry, entry.at in zip(entries, times, strict=True):
        with intake.catching():
            session.append(intake.turn(entry), entry.where)
    if session:
        yield intake.part(intake.user_name(), session.build(dated=dated))


def _entries(intake: Intake, lines: list[tuple[int, str]]) -> Iterator[Entry]:
    """Yield what was asked and answered."""
    role: Role | None = None
    held, where, fenced = list[str](), intake.name, False
    for number, line in lines:
        fenced ^= role == "assistant" and line.startswith("```")
        asked = None if fenced else _ASKED.fullmatch(line)
        if role == "user" and not asked:  # a prompt ends with its last heading
            yield _turn(intake, role, held, where)
            role, held = None, []
        if line.startswith(">") and not fenced:
            intake.notes[REPORTS] += 1
            continue
        now: Role = "user" if asked else "assistant"
        if role not in (None, now):
            yield _turn(intake, role, held, where)
        if role != now:
            role, held, where = now, [], f"{intake.name}, line {number}"
        held.append(asked["text"].rstrip() if asked else line)
    yield _turn(intake, role, held, where)


def _turn(intake: Intake, role: Role | None, lines: list[str], where: str) -> Entry:
    """Return a turn; one without words for a command of the program."""
    text = "\n".join(lines).strip()
    if role == "assistant":
        return Entry(where, role, text=without_markup(text, intake.notes))
    text = _SPOKEN.sub("", text)
    if _COMMAND.fullmatch(text):
        intake.notes["commands and their output left out"] += 1
        text = ""
    return Entry(where, role, text=text)


FORMAT = format_named("aider", _read, lambda intake: any(map(_START.fullmatch, intake.lines[:3])))
