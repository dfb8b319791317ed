"""Transcripts of meetings: WebVTT, SRT and SBV, as Zoom, Teams and Meet write them, and chats.

A cue has times and words. Who speaks is a voice tag (``<v Ana>``), or a name before a colon; a cue
without either goes on with the speaker before. Teams cuts one utterance into several cues, whose
ids differ only after the last hyphen: they are one turn.

Meet's transcript as text has a time alone on a line now and then, and below it the words, each
after its speaker's name. What stands above the first time, and what the service adds at the end, is
left out.

Sources: W3C "WebVTT", the help pages of Zoom, Teams and Meet. Never seen real.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise

from theanine.importers.base import Entry, Intake, format_named
from theanine.importers.chat_lines import is_meeting, read_chat
from theanine.importers.dates import Calendar
from theanine.importers.sessions import SYNTHETIC, SessionBuilder
from theanine.importers.words import storable
from theanine.importers.written_dates import time_in_name
from theanine.types import History

_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_CUE = re.compile(rf"\s*{_TIME}\s*(?:-->|,)\s*(?:\d{{1,3}}:)?\d{{1,2}}:\d{{2}}[.,]\d{{1,3}}")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]*)>(.*?)(?=<v[.\s]|</v>|\Z)(?:</v>)?", re.DOTALL)
_TAG = re.compile(r"</?(?:v|c|i|b|u|ruby|rt|lang|font)(?:[.\s][^<>]*)?>|<\d[\d:.]*>|\{\\an\d\}")
_NAMED = re.compile(
    r"(?:>>\s*|-\s+)?(?:\[([^\]\n]{1,60})\]|\(([^)\n]{1,60})\)|([^\W\d_][^:：\n.!?,;]{0,59}?))"
    r"\s?[:：]\s+(?=\S)"
)
_STAMP = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})")
_ENDED = re.compile(r"[^:]*\d{1,2}:\d\d:\d\d\W*")
_PIECE = re.compile(r"(.*\d)-\d+")
_NOTE = re.compile(r"(?:NOTE|STYLE|REGION)\b")
_NOTES = "notes of captions left out"
_SPEAKER = "Speaker"


@dataclass(frozen=True, slots=True)
class _Said:
    """The words of one speaker in a cue, with the cue's ``id``; an unnamed speaker is empty."""

    start: timedelta
    speaker: str
    text: str
    id: str
    where: str


def _sniff(intake: Intake) -> bool:
    has_cues = intake.lines[0].startswith("WEBVTT") or any(map(_CUE.match, intake.lines[:2]))
    return has_cues or _is_stamped(intake.lines) or is_meeting(intake.lines)


def _is_stamped(lines: Sequence[str]) -> bool:
    """Return whether a text has times alone on their lines, with who says what below."""
    return any(_STAMP.fullmatch(a) and _NAMED.match(b) for a, b in pairwise(lines))


def _read(intake: Intake) -> Iterator[History]:
    stamped = _is_stamped(intake.lines)
    if not stamped and is_meeting(intake.lines):
        yield from read_chat(intake)
        return
    turns = list(_stamped(intake) if stamped else _turns(intake))
    name = intake.user_name()
    if turns:
        start = time_in_name(intake.source.name, intake.options.local)
        dated = start is not None or intake.options.start is not None
        if start is None:
            start = Calendar(intake.options.start).place(len(turns), None, intake.name)[0]
            intake.notes[SYNTHETIC] += not dated
        session = SessionBuilder(intake.stem, intake.notes, title=intake.stem)
        for said in turns:
            with intake.catching():
                at = start + said.start
                entry = Entry(said.where, "user", said.speaker, said.text, at=at)
                session.append(intake.turn(entry), said.where)
        yield intake.part(name, session.build(start, dated=dated))


def _turns(intake: Intake) -> Iterator[_Said]:
    """Yield what was said, the pieces of one utterance together."""
    current: _Said | None = None
    for said in _cues(intake):
        if current is None:
            current = replace(said, speaker=said.speaker or _SPEAKER)
            continue
        same = said.speaker in ("", current.speaker)
        if same and (not said.speaker or _utterance(said.id) == _utterance(current.id) != ""):
            current = replace(current, text=f"{current.text} {said.text}")
            continue
        yield current
        current = replace(said, speaker=said.speaker or current.speaker)
    if current is not None:
        yield current


def _stamped(intake: Intake) -> Iterator[_Said]:
    """Yield what was said in a text with times alone on their lines."""
    current: _Said | None = None
    start: timedelta | None = None
    for number, raw in intake.text_lines():
        line = raw.strip()
        if stamp := _STAMP.fullmatch(line):
            hours, minutes, seconds = map(int, stamp.groups())
            start = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        elif start is None or not line:
            intake.notes[_NOTES] += bool(line)
        elif _ENDED.fullmatch(line):
            intake.notes[_NOTES] += 1
            break
        elif named := _NAMED.match(line):
            if current is not None:
                yield current
            name = storable(next(filter(None, named.groups())).strip())
            words = storable(line[named.end() :])
            current = _Said(start, name, words, "", f"{intake.name}, line {number}")
        elif current is not None:
            current = replace(current, text=f"{current.text}\n{storable(line)}")
    if current is not None:
        yield current


def _utterance(id: str) -> str:
    """Return the part of a cue's id that all pieces of one utterance have; empty if none."""
    match = _PIECE.fullmatch(id)
    return match[1] if match else ""


def _cues(intake: Intake) -> Iterator[_Said]:
    lines = [(number, line.strip()) for number, line in intake.text_lines()]
    starts = [(i, match) for i, (_, line) in enumerate(lines) if (match := _CUE.match(line))]
    heading = [line for _, line in lines[: starts[0][0]]] if starts else []
    named = [line for line in heading if line and not line.startswith("WEBVTT")]
    named = [line for line in named if not line.isdigit()]
    intake.notes[_NOTES] += max(len(named) - 1, 0)  # the last one is the id of the first cue
    ends = [*(i for i, _ in starts[1:]), len(lines) + 1]
    for (i, match), end in zip(starts, ends, strict=False):
        said = [line for _, line in lines[i + 1 : end]]
        if said and end <= len(lines):  # the id of the next cue, or a blank line
            said.pop()
        notes = (n for n, line in enumerate(said) if n and not said[n - 1] and _NOTE.match(line))
        if (note := next(notes, None)) is not None:
            intake.notes[_NOTES] += 1
            said = said[:note]
        hours, minutes, seconds, fraction = match.groups()
        start = timedelta(
            hours=int(hours or 0),
            minutes=int(minutes),
            seconds=int(seconds),
            milliseconds=int(fraction.ljust(3, "0")),
        )
        id = lines[i - 1][1] if i else ""
        yield from _voices(start, said, id, f"{intake.name}, line {lines[i][0]}")


def _voices(start: timedelta, lines: list[str], id: str, where: str) -> Iterator[_Said]:
    """Yield what the voices of a cue say."""
    text = "\n".join(lines)
    voices = [(m[1], m[2]) for m in _VOICE.finditer(text)]
    if rest := _plain(_VOICE.sub("", text)) if voices else "":
        voices.append(("", rest))
    if not voices:
        match = _NAMED.match(_plain(text))
        name = next((each for each in match.groups() if each), "") if match else ""
        voices = [(name, _plain(text)[match.end() :] if match else text)]
    for name, said in voices:
        if words := _plain(said):
            yield _Said(start, storable(html.unescape(name).strip()), storable(words), id, where)


def _plain(text: str) -> str:
    """Return the words of a cue, without tags, on one line."""
    return " ".join(html.unescape(_TAG.sub("", text)).split())


FORMAT = format_named("captions", _read, _sniff)
