"""Persona-Chat as SeCom uses it (appendix A.9): the next turns of a chat, after the five around it.

The file is Synthetic-Persona-Chat's (Jandaghi et al. 2023): a table with both personas and the
conversation as lines ``User 1: …``. The surrounding chats are the earlier sessions. The second
speaker's turns are predicted; both personas open the dialogue, as in the paper's prompt.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
    turns: Sequence[PlainTurn]


def is_personachat(path: Path) -> bool:
    """Return whether a file is a table, judged by its suffix."""
    return path.suffix.lower() == ".csv"


def read_personachat(path: Path) -> list[Group]:
    """Read one group a chat. Raises BadInput if there is no chat."""
    dropped = Counter[str]()
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            chats = list(_chats(csv.DictReader(file), dropped))
    except (OSError, ValueError, csv.Error) as error:
        raise BadInput(f"can't be read as a table: {error}", str(path)) from None
    groups = [_group(index, chats) for index in range(len(chats))]
    groups = [group for group in groups if group.samples]
    if not groups:
        raise BadInput(f"no chat in it; it needs the columns {', '.join(_COLUMNS)}", str(path))
    first, *rest = groups
    return [replace(first, dropped=dict(dropped)), *rest]


def _chats(rows: csv.DictReader[str], dropped: Counter[str]) -> Iterator[_Chat]:
    for number, row in enumerate(rows, 1):
        cells = {str(name).strip().casefold(): value or "" for name, value in row.items()}
        turns = _turns(cells.get(_COLUMNS[2], ""))
        if len(turns) < 2:
            dropped["chats that can't be read"] += 1
            continue
        personas = {
            name: [line.strip() for line in cells.get(column, "").splitlines() if line.strip()]
            for name, column in zip((FIRST, SECOND), _COLUMNS, strict=False)
        }
        yield _Chat(id=f"persona-chat/{number}", personas=personas, turns=turns)


def _turns(text: str) -> list[PlainTurn]:
    """Parse the turns; a line without a name continues the turn above."""
    turns: list[PlainTurn] = []
    for line in text.splitlines():
        if match := _LINE.fullmatch(line):
            turns.append(PlainTurn(speaker=match[1].capitalize(), text=match[2].strip()))
        elif line.strip() and turns:
            turns[-1] = replace(turns[-1], text=f"{turns[-1].text} {line.strip()}".strip())
    return [turn for turn in turns if turn.text]


def _group(index: int, chats: Sequence[_Chat]) -> Group:
    chat = chats[index]
    nearby = [chats[i] for i in surrounding_indices(index, len(chats), OTHERS)]
    history = build_history(chat.id, [(other.id, other.turns) for other in nearby])
    if not history.transcripts:
        return Group(id=chat.id, stages=())
    samples: list[Sample] = []
    personas = {name: persona for name, persona in chat.personas.items() if persona}
    opening = [PlainTurn(speaker=name, text=" ".join(lines)) for name, lines in personas.items()]
    for i in range(1, len(chat.turns)):
        if chat.turns[i].speaker != SECOND:
            continue
        *before, last = chat.turns[:i]
        question = PlainQuestion(
            id=f"{chat.id}/{i + 1}",
            text=last.text,
            answer=chat.turns[i].text,
            category="persona-chat",
            before=(*opening, *before),
            speaker=last.speaker,
            answers=SECOND,
            extra={"persona": personas},
        )
        samples.append(build_sample(question, [history]))
    stage = Stage(histories=(history,), samples=tuple(samples))
    return Group(id=chat.id, stages=(stage,), dataset="Persona-Chat")
