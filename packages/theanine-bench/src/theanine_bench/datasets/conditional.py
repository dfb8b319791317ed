"""The conditional-memory paper's three sets (section 4): new knowledge, feedback, continuing.

A sample is two files, as the authors' own programs write them: ``…_history_7.txt`` has the source
dialogue, a session a line, each a list of ``{"role", "content"}``; ``…_reference_7.txt`` has the
test turns, in which a user's turn is followed by what a good assistant says. The beginning of the
name tells the task.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from theanine.errors import BadInput
from theanine_bench.datasets.reading import (
    ASSISTANT,
    USER,
    PlainQuestion,
    PlainTurn,
    build_history,
    build_sample,
    keep_askable,
    records,
)
from theanine_bench.samples import Group, Stage

TASKS = {"msc": "knowledge", "refine": "feedback", "code": "continue"}
"""The task by the first word of a file's name."""
_HISTORY = re.compile(r"(?P<what>.+)_history_(?P<number>\d+)\.txt")


def is_conditional(folder: Path) -> bool:
    """Whether a folder, or a folder in it, has such samples."""
    return any(_HISTORY.fullmatch(file.name) for file in folder.rglob("*_history_*.txt"))


def read_conditional(folder: Path) -> list[Group]:
    """One group a sample, by task and number. Raises BadInput where none can be asked anything."""
    files = [
        (match["what"].partition("_")[0], int(match["number"]), file)
        for file in folder.rglob("*_history_*.txt")
        if (match := _HISTORY.fullmatch(file.name))
    ]
    groups = [_group(what, number, file) for what, number, file in sorted(files)]
    return keep_askable(groups, "samples", str(folder))


def _group(what: str, number: int, file: Path) -> Group:
    task = TASKS.get(what, what)
    name = f"{task}-{number}"
    dropped = Counter[str]()
    sessions = [
        (f"{name}/{place}", list(_lines(dialogue, dropped)))
        for place, dialogue in enumerate(_dialogues(file), 1)
    ]
    history = build_history(name, sessions)
    reference = file.with_name(file.name.replace("_history_", "_reference_"))
    if not history.transcripts or not reference.is_file():
        return Group(id=name, stages=())
    turns = [line for dialogue in _dialogues(reference) for line in _lines(dialogue, dropped)]
    cases = tuple(
        build_sample(
            PlainQuestion(id=f"{name}/{place}", text=asks.text, answer=says.text, category=task),
            [history],
        )
        for place, (asks, says) in enumerate(_pairs(turns, dropped), 1)
    )
    stage = Stage(histories=(history,), samples=cases)
    return Group(id=name, stages=(stage,), dropped=dict(+dropped))


def _dialogues(file: Path) -> Iterator[Any]:
    """A dialogue a line; a file of one JSON list of dialogues does as well."""
    try:
        text = file.read_text("utf-8-sig")
        try:
            read = [json.loads(text)]
        except ValueError:
            read = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise BadInput(f"can't be read as JSON: {error}", str(file)) from None
    for one in read:
        inner = cast("list[Any]", one) if isinstance(one, list) else []
        yield from inner if inner and all(isinstance(part, list) for part in inner) else [one]


def _lines(dialogue: Any, dropped: Counter[str]) -> Iterator[PlainTurn]:
    for turn in records(dialogue):
        text = str(turn.get("content") or "").strip()
        if not text:
            dropped["empty turns"] += 1
        elif turn.get("role") == ASSISTANT:
            yield PlainTurn(speaker=ASSISTANT, text=text, role="assistant")
        else:
            yield PlainTurn(speaker=USER, text=text)


def _pairs(turns: list[PlainTurn], dropped: Counter[str]) -> Iterator[tuple[PlainTurn, PlainTurn]]:
    """Each turn of the user's with the assistant's right after it."""
    for place, turn in enumerate(turns):
        if turn.role == "assistant":
            continue
        if place + 1 < len(turns) and turns[place + 1].role == "assistant":
            yield turn, turns[place + 1]
        else:
            dropped["test turns without a reference"] += 1
