"""Persona-Chat as SeCom uses it (appendix A.9): the next turns of a chat, after the five around it.

The file is Synthetic-Persona-Chat's (Jandaghi et al. 2023): a table with both personas and the
conversation as lines ``User 1: …``. The chats around are the sessions before. The second speaker's
turns are predicted; each speaker's persona opens the dialogue, as the paper has both in its prompt.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from theanine.errors import BadInput
from theanine_bench.datasets.reading import (
    PlainQuestion,
    PlainTurn,
    build_history,
    build_sample,
    surrounding_indices,
)
from theanine_bench.samples import Group, Sample, Stage

OTHERS = 5
FIRST, SECOND = "User 1", "User 2"
_COLUMNS = ("user 1 personas", "user 2 personas", "best generated conversation")
_LINE = re.compile(r"(?i)\s*(user [12])\s*:\s*(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chat:
    """A row of the table."""

    id: str
    personas: dict[str, list[str]]
    lines: Sequence[PlainTurn]


def is_personachat(path: Path) -> bool:
    """Whether a file is such a table, by its name's ending."""
    return path.suffix.lower() == ".csv"


def read_personachat(path: Path) -> list[Group]:
    """One group a chat. Raises BadInput where there is no such chat in it."""
    dropped = Counter[str]()
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            chats = list(_chats(csv.DictReader(file), dropped))
    except (OSError, ValueError, csv.Error) as error:
        raise BadInput(f"can't be read as a table: {error}", str(path)) from None
    groups = [_group(place, chats) for place in range(len(chats))]
    groups = [group for group in groups if group.samples]
    if not groups:
        raise BadInput(f"no chat in it; it needs the columns {', '.join(_COLUMNS)}", str(path))
    first, *rest = groups
    return [Group(id=first.id, stages=first.stages, dropped=dict(dropped)), *rest]


def _chats(rows: csv.DictReader[str], dropped: Counter[str]) -> Iterator[_Chat]:
    for number, row in enumerate(rows, 1):
        plain = {str(name).strip().casefold(): value or "" for name, value in row.items()}
        lines = _lines(plain.get(_COLUMNS[2], ""))
        if len(lines) < 2:
            dropped["chats that can't be read"] += 1
            continue
        personas = {
            name: [one.strip() for one in plain.get(column, "").splitlines() if one.strip()]
            for name, column in zip((FIRST, SECOND), _COLUMNS, strict=False)
        }
        yield _Chat(id=f"persona-chat/{number}", personas=personas, lines=lines)


def _lines(text: str) -> list[PlainTurn]:
    """The turns; a line without a name goes on with the turn before it."""
    lines: list[PlainTurn] = []
    for one in text.splitlines():
        if match := _LINE.fullmatch(one):
            lines.append(PlainTurn(speaker=match[1].capitalize(), text=match[2].strip()))
        elif one.strip() and lines:
            said = f"{lines[-1].text} {one.strip()}".strip()
            lines[-1] = PlainTurn(speaker=lines[-1].speaker, text=said)
    return [line for line in lines if line.text]


def _group(place: int, chats: Sequence[_Chat]) -> Group:
    own = chats[place]
    near = [chats[one] for one in surrounding_indices(place, len(chats), OTHERS)]
    history = build_history(own.id, [(chat.id, chat.lines) for chat in near])
    if not history.transcripts:
        return Group(id=own.id, stages=())
    cases: list[Sample] = []
    personas = {name: persona for name, persona in own.personas.items() if persona}
    opening = [PlainTurn(speaker=name, text=" ".join(said)) for name, said in personas.items()]
    for number in range(1, len(own.lines)):
        if own.lines[number].speaker != SECOND:
            continue
        *before, last = own.lines[:number]
        asked = PlainQuestion(
            id=f"{own.id}/{number + 1}",
            text=last.text,
            answer=own.lines[number].text,
            category="persona-chat",
            before=(*opening, *before),
            speaker=last.speaker,
            answers=SECOND,
            extra={"persona": personas},
        )
        cases.append(build_sample(asked, [history]))
    return Group(id=own.id, stages=(Stage(histories=(history,), samples=tuple(cases)),))
