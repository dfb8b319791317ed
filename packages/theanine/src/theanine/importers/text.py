"""Plain text: a turn a line, ``Speaker: text``.

A line that starts with ``#`` and contains an ISO date starts a session of that date (noon if it
has no time). In a text with dates, only those lines separate sessions. Without dates, lines of
dashes and ``#`` lines separate them; if there are none, blank lines do, unless there are blank
lines between all turns. A line without a speaker, and every indented line, continues the previous
turn. A session is named after the file, with its date or its number.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from theanine.errors import BadInput
from theanine.importers.base import Entry, Intake, Rejected, format_named
from theanine.importers.sessions import UntimedSession, make_history
from theanine.importers.source import STANDARD_INPUT
from theanine.types import History, Role

_TURN = re.compile(
    r"(?P<speaker>[^\W\d_][\w .'’()&-]{0,39}?)\s*[:：](?!//)\s*(?P<text>.*)", re.DOTALL
)
_DATE = re.compile(r"\d{1,6}-\d\d?-\d\d?(?:[ T]\d\d?:\d\d(?::\d\d)?(?:\s?Z|\s?[+-]\d\d:?\d\d)?)?")
_RULE = re.compile(r"\s*(?:-{3,}|—{2,}|={3,}|\*{3,}|_{3,})\s*")
_ASSISTANTS = frozenset({"assistant", "agent", "ai", "bot", "chatbot"})


@dataclass(slots=True)
class _Block:
    """Turns between two separators (speaker, lines, line number), with the header above them."""

    header: str = ""
    line: int = 1
    turns: list[tuple[str, list[str], int]] = field(
        default_factory=list[tuple[str, list[str], int]]
    )


def _read(intake: Intake) -> Iterator[History]:
    text = intake.source.text()
    blocks = _blocks(intake, [line.removesuffix("\r") for line in text.split("\n")])
    digest = hashlib.sha256(text.encode("utf-8")).hexdigest()[:8]
    stem = intake.stem if intake.name != STANDARD_INPUT else f"text-{digest}"
    if any(_DATE.search(block.header) for block in blocks):
        sessions = _dated_sessions(intake, blocks, stem)
    else:
        sessions = [
            UntimedSession(
                f"{stem}/{i}", _turns(intake, block), f"{intake.name}, line {block.line}"
            )
            for i, block in enumerate(blocks, 1)
        ]
    history = make_history(intake, intake.own_name, sessions)
    if history.transcripts:
        yield history


def _blocks(intake: Intake, lines: Sequence[str]) -> list[_Block]:
    headers = [line for line in lines if line.startswith("#")]
    if any(_DATE.search(line) for line in headers):
        return _split(intake, lines, dates=True)
    if headers or any(_RULE.fullmatch(line) for line in lines):
        return _split(intake, lines)
    trial = replace(intake, faults=[])
    blocks = _split(trial, lines, blanks=True)
    if len(blocks) > 2 and all(len(block.turns) == 1 for block in blocks):
        return _split(intake, lines)
    intake.faults += trial.faults
    return blocks


def _split(
    intake: Intake, lines: Sequence[str], *, dates: bool = False, blanks: bool = False
) -> list[_Block]:
    blocks = [_Block()]
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            if not dates or _DATE.search(line):
                blocks.append(_Block(line.lstrip("# ").strip(), number))
        elif _RULE.fullmatch(line) or not line.strip():
            if not dates and (blanks or line.strip()):
                blocks.append(_Block(line=number + 1))
        else:
            block, match = blocks[-1], None if line[0].isspace() else _TURN.fullmatch(line)
            if match and len(match["speaker"].split()) <= 4:
                block.turns.append((match["speaker"], [match["text"]], number))
            elif block.turns:
                block.turns[-1][1].append(line.strip())
            else:
                where = f"{intake.name}, line {number}"
                reason = 'no "Speaker: text", and no previous turn to continue; name the speaker'
                intake.faults.append(Rejected(where, reason))
    return [block for block in blocks if block.turns]


def _turns(intake: Intake, block: _Block) -> list[Entry]:
    turns: list[Entry] = []
    for i, (speaker, lines, number) in enumerate(block.turns, 1):
        where = f"{intake.name}, line {number}"
        with intake.catching():
            text = "\n".join(lines).strip()
            if not text:
                raise BadInput("an empty turn; give it text or leave it out", where)
            role: Role = "assistant" if speaker.lower() in _ASSISTANTS else "user"
            turns.append(Entry(where, role, speaker, text, key=str(i)))
    return turns


def _dated_sessions(
    intake: Intake, blocks: Sequence[_Block], stem: str
) -> Iterator[UntimedSession]:
    uses = Counter[str]()
    for block in blocks:
        where = f"{intake.name}, line {block.line}"
        with intake.catching():
            match = _DATE.search(block.header)
            if not match:
                raise BadInput(
                    "turns before the first date; start with a line like # 2024-05-08", where
                )
            date = match[0]
            at = intake.iso_date(date, where)
            uses[date] += 1
            key = f"{stem}/{date}" + (f" ({uses[date]})" if uses[date] > 1 else "")
            yield UntimedSession(key, _turns(intake, block), where, at)


FORMAT = format_named("text", _read, lambda intake: any(map(_TURN.fullmatch, intake.lines[:5])))
