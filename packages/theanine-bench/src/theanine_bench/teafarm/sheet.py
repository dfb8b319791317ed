"""Questions as a file that a person reads and edits: a block a question.

::

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

A line is ``field: words``, or it is indented and goes on with the field above it. ``#`` at the very
beginning of a line makes it a comment. ``[name]`` begins a question. Before the first one, ``data``
or ``store`` name the sessions that come before, relative to this file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from theanine.errors import BadInput
from theanine.importers.dates import iso_time
from theanine.text.formatting import one_line
from theanine_bench.teafarm.question import Evidence, Question, Sheet

HEAD = ("data", "store")
LISTS = ("evidence", "session", "must say", "must not say")
WORDS = ("user", "asks", "answers", "assumes", "question", "answer", "set", "at")
NEEDED = ("asks", "question", "answer")
TO_FILL_IN = ("assumes", "question", "answer", "must say", "must not say")
"""Fields that a question without words shows all the same."""
_FIELD = re.compile(r"([A-Za-z][A-Za-z ]*?)\s*:(?:\s+(.*)|$)")
_NAME = re.compile(r"\[(.+)\]\s*$")


@dataclass(slots=True)
class _Block:
    """A question being read: its fields as lines, each with its number in the file."""

    name: str
    line: int
    fields: dict[str, list[tuple[int, str]]] = field(
        default_factory=dict[str, list[tuple[int, str]]]
    )

    def words(self, name: str) -> str:
        """A field's lines as one text."""
        return " ".join(text for _, text in self.fields.get(name, ())).strip()

    def lines(self, name: str) -> list[tuple[int, str]]:
        """A field's lines that aren't empty."""
        return [(number, text) for number, text in self.fields.get(name, ()) if text]


def read_sheet(path: Path) -> Sheet:
    """The questions of a file. Raises BadInput, naming the line, for what can't be taken."""
    head, *blocks = _blocks(_text(path), path.name)
    for name in head.fields:
        if name not in HEAD:
            where = f"{path.name}, line {head.fields[name][0][0]}"
            raise BadInput(f'"{name}" before the first question; begin it with [a name]', where)
    if not blocks:
        raise BadInput("no question in it; each begins with a line like [ana/1]", str(path))
    seen: dict[str, int] = {}
    for block in blocks:
        if (first := seen.setdefault(block.name, block.line)) != block.line:
            where = f"{path.name}, line {block.line}"
            raise BadInput(f"[{block.name}] is in line {first} already; give each its own", where)
    return Sheet(
        questions=tuple(_question(block, path.name) for block in blocks),
        data=head.words("data"),
        store=head.words("store"),
    )


def write_head(data: str = "", store: str = "") -> str:
    """The beginning of a file: where its sessions are, and how it may be edited."""
    where = f"store: {store}" if store else f"data: {data}"
    return (
        "# TeaFarm: questions that take something false about the past for true.\n"
        "# Edit them: a line is `field: words`, or it is indented and part of the one above.\n"
        "# `must say` and `must not say` (a phrase a line, alternatives by |) need no judge.\n"
        f"{where}\n"
    )


def write_block(question: Question) -> str:
    """One question, as :func:`read_sheet` reads it."""
    words = [
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
        ("evidence", [_shown(one) for one in question.evidence]),
        ("session", [_spoken(speaker, said) for speaker, said in question.session]),
        ("must say", list(question.must_say)),
        ("must not say", list(question.must_not_say)),
    ]
    open_ = () if question.text else TO_FILL_IN
    rows = [f"{name}: {one_line(said)}".rstrip() for name, said in words if said or name in open_]
    for name, lines in lists:
        if lines or name in open_:
            rows += [f"{name}:", *(f"  {one_line(line)}" for line in lines)]
    return "\n".join([f"[{one_line(question.id)}]", *rows]) + "\n"


def _spoken(speaker: str, words: str) -> str:
    return f"{one_line(speaker).replace(':', ' ')}: {words}"


def _shown(one: Evidence) -> str:
    if not one.speaker:
        return one.text
    keys = " | ".join(key.replace("|", "/") for key in (one.session, one.turn))
    return f"{keys} | {_spoken(one.speaker, one.text)}"


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise BadInput(f"can't be read: {error}", str(path)) from None


def _blocks(text: str, file: str) -> list[_Block]:
    blocks = [_Block("", 0)]
    current: list[tuple[int, str]] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{file}, line {number}"
        if line.startswith("#") or not line.strip():
            continue
        if line[0].isspace():
            if current is None:
                raise BadInput("an indented line with no field above it", where)
            current.append((number, line.strip()))
        elif named := _NAME.match(line):
            blocks.append(_Block(named[1].strip(), number))
            current = None
        else:
            current = _begin(blocks[-1], line, number, where)
    return blocks


def _begin(block: _Block, line: str, number: int, where: str) -> list[tuple[int, str]]:
    """The lines of a field that begins here."""
    match = _FIELD.match(line)
    if match is None:
        raise BadInput('no "field: words"; indent a line that goes on with the one above', where)
    name = match[1].lower()
    known = (*WORDS, *LISTS) if block.line else HEAD
    if name not in known and (block.line or name not in (*WORDS, *LISTS)):
        raise BadInput(f'no field "{match[1]}"; there are: {", ".join(known)}', where)
    if name in block.fields:
        first = block.fields[name][0][0]
        raise BadInput(f'"{name}" is in line {first} already; indent what goes on with it', where)
    block.fields[name] = [(number, (match[2] or "").strip())]
    return block.fields[name]


def _question(block: _Block, file: str) -> Question:
    for name in NEEDED:
        if not block.words(name):
            line = block.fields[name][0][0] if name in block.fields else block.line
            raise BadInput(
                f'[{block.name}] has no {name}; write "{name}: …", or delete the whole question',
                f"{file}, line {line}",
            )
    return Question(
        id=block.name,
        user=block.words("user"),
        asks=block.words("asks"),
        answers=block.words("answers") or "assistant",
        assumes=block.words("assumes"),
        text=block.words("question"),
        answer=block.words("answer"),
        evidence=tuple(_evidence(text) for _, text in block.lines("evidence")),
        session=tuple(
            _turn(text, f"{file}, line {number}") for number, text in block.lines("session")
        ),
        must_say=_phrases(block, "must say", file),
        must_not_say=_phrases(block, "must not say", file),
        at=_time(block, file),
        data_set=block.words("set"),
        where=f"{file}, line {block.line}",
    )


def _turn(text: str, where: str) -> tuple[str, str]:
    speaker, colon, words = text.partition(":")
    if not colon or not speaker.strip() or not words.strip():
        raise BadInput('no "Speaker: words"; a turn of the session stands in one line', where)
    return speaker.strip(), words.strip()


def _phrases(block: _Block, name: str, file: str) -> tuple[str, ...]:
    for number, text in block.lines(name):
        if not all(re.search(r"\w", phrase) for phrase in text.split("|")):
            raise BadInput("an alternative without a word", f"{file}, line {number}")
    return tuple(text for _, text in block.lines(name))


def _evidence(text: str) -> Evidence:
    parts = text.split(" | ", 2)
    if len(parts) < 3:
        return Evidence(text=text)
    speaker, colon, words = parts[2].partition(": ")
    if not colon:
        return Evidence(text=text)
    return Evidence(session=parts[0], turn=parts[1], speaker=speaker, text=words)


def _time(block: _Block, file: str) -> datetime | None:
    if not block.words("at"):
        return None
    return iso_time(block.words("at"), f"{file}, line {block.fields['at'][0][0]}", UTC)


def outline(path: Path) -> tuple[dict[str, str], set[str]]:
    """A file's head, and the users that it has questions on, filled in or not. Raises BadInput."""
    head, *blocks = _blocks(_text(path), path.name)
    return {name: head.words(name) for name in HEAD}, {block.words("user") for block in blocks}
