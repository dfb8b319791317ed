"""Counterfactual questions, and the text file that people read and edit them in.

A question is a block; a file begins with where its sessions are::

    data: talks.jsonl

    [ana/1]
    user: ana
    asks: Ana
    answers: Theo
    assumes: Ana still works at the shipyard.
    question: How was the shipyard today, did your manager keep you late again?
    answer: She left the shipyard in June and now works for a honey cooperative.
    evidence:
      a-letter | a-letter-1 | Ana: I quit my job at the shipyard yesterday.
    session:
      Ana: Hi Theo, what a long day.
      Theo: Tell me about it.
    must say:
      quit | left | honey
    must not say:
      keep you late

A line is ``field: words``, or it is indented and continues the field above it. A line that begins
with ``#`` is a comment. ``[name]`` begins a question. Before the first one, ``data`` or ``store``
names the earlier sessions, relative to this file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from theanine.errors import BadInput
from theanine.importers.dates import iso_time
from theanine.text.formatting import one_line
from theanine_bench.files import read_text

HEADER_FIELDS = ("data", "store")
TEXT_FIELDS = ("user", "asks", "answers", "assumes", "question", "answer", "set", "at")
LIST_FIELDS = ("evidence", "session", "must say", "must not say")
REQUIRED_FIELDS = ("asks", "question", "answer")
BLANK_FIELDS = ("assumes", "question", "answer", "must say", "must not say")
"""Fields that are written even if empty when the question is to be filled in."""
_FIELD = re.compile(r"([A-Za-z][A-Za-z ]*?)\s*:(?:\s+(.*)|$)")
_NAME = re.compile(r"\[(.+)\]\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceTurn:
    """A turn that shows what is right; a person's note in other words has only ``text``.

    Attributes:
        session, turn: keys.
    """

    session: str = ""
    turn: str = ""
    speaker: str = ""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterfactualQuestion:
    """A question that takes something false about the past for true.

    Attributes:
        id: unique in its file.
        user: whose memory is tested; may be empty if the data has only one history.
        asks, answers: the speaker who asks, and the one who is asked, whom the agent replaces.
        assumes: the false assumption; may be empty.
        answer: the right answer.
        session: the new session before the question, as (speaker, text).
        must_say: phrases of a right reply, checked without a judge. Each line holds alternatives
            separated by ``|``, one of which must occur.
        must_not_say: phrases that must not occur.
        at: when the new session begins; None for a week after the last one.
        data_set: the set whose figures it counts toward, such as ``MSC``; may be empty.
        where: its place in its file, for messages.
    """

    id: str
    user: str = ""
    asks: str
    answers: str = "assistant"
    assumes: str = ""
    text: str
    answer: str
    evidence: tuple[EvidenceTurn, ...] = ()
    session: tuple[tuple[str, str], ...] = ()
    must_say: tuple[str, ...] = ()
    must_not_say: tuple[str, ...] = ()
    at: datetime | None = None
    data_set: str = ""
    where: str = ""

    @property
    def has_rules(self) -> bool:
        """Whether a reply can be checked without a judge."""
        return bool(self.must_say or self.must_not_say)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFile:
    """Questions and the location of the earlier sessions: a history file or a store, as written."""

    questions: tuple[CounterfactualQuestion, ...]
    data: str = ""
    store: str = ""


@dataclass(slots=True)
class _Block:
    """A question while it is read: the lines of its fields, with their line numbers."""

    name: str
    line: int
    fields: dict[str, list[tuple[int, str]]] = field(
        default_factory=dict[str, list[tuple[int, str]]]
    )

    def text(self, name: str) -> str:
        """Return a field's lines joined by spaces."""
        return " ".join(text for _, text in self.fields.get(name, ())).strip()

    def lines(self, name: str) -> list[tuple[int, str]]:
        """Return a field's non-empty lines."""
        return [(number, text) for number, text in self.fields.get(name, ()) if text]


def read_question_file(path: Path) -> QuestionFile:
    """Read the questions of a file. Raises BadInput, naming the line of the first fault."""
    header, *blocks = _read_blocks(path)
    for name, lines in header.fields.items():
        if name not in HEADER_FIELDS:
            where = f"{path.name}, line {lines[0][0]}"
            raise BadInput(f'"{name}" before the first question; begin it with [a name]', where)
    if not blocks:
        raise BadInput("no question in it; each begins with a line like [ana/1]", str(path))
    seen: dict[str, int] = {}
    for block in blocks:
        if (first := seen.setdefault(block.name, block.line)) != block.line:
            where = f"{path.name}, line {block.line}"
            raise BadInput(f"[{block.name}] is in line {first} already; names are unique", where)
    return QuestionFile(
        questions=tuple(_parse_question(block, path.name) for block in blocks),
        data=header.text("data"),
        store=header.text("store"),
    )


def read_outline(path: Path) -> tuple[dict[str, str], set[str]]:
    """Return a file's header and the users it has questions about, complete or not.

    Raises BadInput.
    """
    header, *blocks = _read_blocks(path)
    fields = {name: header.text(name) for name in HEADER_FIELDS}
    return fields, {block.text("user") for block in blocks}


def format_header(data: str = "", store: str = "") -> str:
    """Return the beginning of a file: where its sessions are, and how to edit it."""
    where = f"store: {store}" if store else f"data: {data}"
    return (
        "# TeaFarm: questions that take something false about the past for true.\n"
        "# A line is `field: words`, or it is indented and continues the one above.\n"
        "# `must say` and `must not say` (a phrase a line, alternatives by |) need no judge.\n"
        f"{where}\n"
    )


def format_question(question: CounterfactualQuestion) -> str:
    """Return a question in the form that :func:`read_question_file` reads."""
    texts = [
        ("user", question.user),
        ("set", question.data_set),
        ("at", question.at.isoformat() if question.at else ""),
        ("asks", question.asks),
        ("answers", question.answers),
        ("assumes", question.assumes),
        ("question", question.text),
        ("answer", question.answer),
    ]
    lists = [
        ("evidence", [_format_evidence(turn) for turn in question.evidence]),
        ("session", [_format_turn(speaker, text) for speaker, text in question.session]),
        ("must say", list(question.must_say)),
        ("must not say", list(question.must_not_say)),
    ]
    blank = () if question.text else BLANK_FIELDS
    rows = [f"{name}: {one_line(text)}".rstrip() for name, text in texts if text or name in blank]
    for name, lines in lists:
        if lines or name in blank:
            rows += [f"{name}:", *(f"  {one_line(line)}" for line in lines)]
    return "\n".join([f"[{one_line(question.id)}]", *rows]) + "\n"


def bare_words(text: str) -> str:
    """Return the words of a text in lower case, without punctuation."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def _format_turn(speaker: str, text: str) -> str:
    return f"{one_line(speaker).replace(':', ' ')}: {text}"


def _format_evidence(turn: EvidenceTurn) -> str:
    if not turn.speaker:
        return turn.text
    keys = " | ".join(key.replace("|", "/") for key in (turn.session, turn.turn))
    return f"{keys} | {_format_turn(turn.speaker, turn.text)}"


def _read_blocks(path: Path) -> list[_Block]:
    """Return the header as a block without a name, then the questions."""
    blocks = [_Block("", 0)]
    current: list[tuple[int, str]] | None = None
    for number, line in enumerate(read_text(path).splitlines(), 1):
        where = f"{path.name}, line {number}"
        if line.startswith("#") or not line.strip():
            continue
        if line[0].isspace():
            if current is None:
                raise BadInput("an indented line with no field above it", where)
            current.append((number, line.strip()))
        elif match := _NAME.match(line):
            blocks.append(_Block(match[1].strip(), number))
            current = None
        else:
            current = _begin_field(blocks[-1], line, number, where)
    return blocks


def _begin_field(block: _Block, line: str, number: int, where: str) -> list[tuple[int, str]]:
    """Add a field to a block and return its lines, for those that continue it."""
    match = _FIELD.match(line)
    if match is None:
        raise BadInput('no "field: words"; indent a line that continues the one above', where)
    name, fields = match[1].lower(), (*TEXT_FIELDS, *LIST_FIELDS)
    if name not in fields and (block.line or name not in HEADER_FIELDS):
        names = ", ".join(fields if block.line else HEADER_FIELDS)
        raise BadInput(f'no field "{match[1]}"; there are: {names}', where)
    if name in block.fields:
        first = block.fields[name][0][0]
        raise BadInput(f'"{name}" is in line {first} already; indent what continues it', where)
    block.fields[name] = [(number, (match[2] or "").strip())]
    return block.fields[name]


def _parse_question(block: _Block, file: str) -> CounterfactualQuestion:
    for name in REQUIRED_FIELDS:
        if not block.text(name):
            line = block.fields[name][0][0] if name in block.fields else block.line
            raise BadInput(
                f'[{block.name}] has no {name}; write "{name}: …", or delete the whole question',
                f"{file}, line {line}",
            )
    at = block.text("at")
    return CounterfactualQuestion(
        id=block.name,
        user=block.text("user"),
        asks=block.text("asks"),
        answers=block.text("answers") or "assistant",
        assumes=block.text("assumes"),
        text=block.text("question"),
        answer=block.text("answer"),
        evidence=tuple(_parse_evidence(text) for _, text in block.lines("evidence")),
        session=tuple(
            _parse_turn(text, f"{file}, line {number}") for number, text in block.lines("session")
        ),
        must_say=_parse_phrases(block, "must say", file),
        must_not_say=_parse_phrases(block, "must not say", file),
        at=iso_time(at, f"{file}, line {block.fields['at'][0][0]}", UTC) if at else None,
        data_set=block.text("set"),
        where=f"{file}, line {block.line}",
    )


def _parse_turn(text: str, where: str) -> tuple[str, str]:
    speaker, colon, words = text.partition(":")
    if not colon or not speaker.strip() or not words.strip():
        raise BadInput('no "Speaker: words"; write a turn of the session on one line', where)
    return speaker.strip(), words.strip()


def _parse_phrases(block: _Block, name: str, file: str) -> tuple[str, ...]:
    for number, text in block.lines(name):
        if not all(re.search(r"\w", phrase) for phrase in text.split("|")):
            raise BadInput("an alternative without a word", f"{file}, line {number}")
    return tuple(text for _, text in block.lines(name))


def _parse_evidence(text: str) -> EvidenceTurn:
    """Parse ``session | turn | Speaker: words``; anything else is a note."""
    parts = text.split(" | ", 2)
    speaker, colon, words = parts[-1].partition(": ")
    if len(parts) < 3 or not colon:
        return EvidenceTurn(text=text)
    return EvidenceTurn(session=parts[0], turn=parts[1], speaker=speaker, text=words)
