"""The conditional-memory paper's three sets (section 4): new knowledge, feedback, continuing.

A sample is two files, as the authors' programs write them: ``…_history_7.txt`` has the source
dialogue, a session a line, each a list of ``{"role", "content"}``; ``…_reference_7.txt`` has the
test turns, each of the user's followed by a reference reply. A file's name begins with the task.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from theanine_bench.datasets.formats import QaFormat
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
from theanine_bench.files import read_json
from theanine_bench.samples import Group, Stage

TASKS = {"msc": "knowledge", "refine": "feedback", "code": "continue"}
"""First word of a file's name → task."""
_HISTORY = re.compile(r"(?P<task>[^_]*).*_history_(?P<number>\d+)\.txt")


def _history_files(folder: Path) -> list[tuple[str, int, Path]]:
    return sorted(
        (match["task"], int(match["number"]), file)
        for file in folder.rglob("*_history_*.txt")
        if (match := _HISTORY.fullmatch(file.name))
    )


def _read(path: Path, document: Any) -> list[Group]:
    """Return one group a sample, by task and number. Raises BadInput if none has a question."""
    groups = [_group(task, number, file) for task, number, file in _history_files(path)]
    return keep_askable(groups, "samples", str(path))


def _group(prefix: str, number: int, file: Path) -> Group:
    task = TASKS.get(prefix, prefix)
    name = f"{task}-{number}"
    dropped = Counter[str]()
    sessions = [
        (f"{name}/{i}", list(_turns(dialogue, dropped)))
        for i, dialogue in enumerate(_dialogues(file), 1)
    ]
    history = build_history(name, sessions)
    reference = file.with_name(file.name.replace("_history_", "_reference_"))
    if not history.transcripts or not reference.is_file():
        return Group(id=name, stages=())
    turns = [turn for dialogue in _dialogues(reference) for turn in _turns(dialogue, dropped)]
    samples = tuple(
        build_sample(
            PlainQuestion(id=f"{name}/{i}", text=asked.text, answer=reply.text, category=task),
            [history],
        )
        for i, (asked, reply) in enumerate(_pairs(turns, dropped), 1)
    )
    stage = Stage(histories=(history,), samples=samples)
    return Group(id=name, stages=(stage,), dropped=dict(+dropped))


def _dialogues(file: Path) -> list[Any]:
    """Return the dialogues of a file: one a line, or a single one."""
    document = read_json(file)
    items = cast("list[Any]", document) if isinstance(document, list) else []
    return items if items and all(isinstance(item, list) for item in items) else [document]


def _turns(dialogue: Any, dropped: Counter[str]) -> Iterator[PlainTurn]:
    for turn in records(dialogue):
        text = str(turn.get("content") or "").strip()
        if not text:
            dropped["empty turns"] += 1
        elif turn.get("role") == ASSISTANT:
            yield PlainTurn(speaker=ASSISTANT, text=text, role="assistant")
        else:
            yield PlainTurn(speaker=USER, text=text)


def _pairs(turns: list[PlainTurn], dropped: Counter[str]) -> Iterator[tuple[PlainTurn, PlainTurn]]:
    """Yield each turn of the user's with the assistant's right after it."""
    for turn, following in pairwise([*turns, None]):
        if turn is None or turn.role == "assistant":
            continue
        if following is not None and following.role == "assistant":
            yield turn, following
        else:
            dropped["test turns without a reference"] += 1


FORMAT = QaFormat(
    name="conditional memory",
    matches=lambda path, document: path.is_dir() and bool(_history_files(path)),
    read=_read,
)
