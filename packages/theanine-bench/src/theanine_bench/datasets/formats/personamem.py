"""PersonaMem-v2: one long history with an assistant a user, and questions with four options.

A folder of histories, ``data/chat_history_32k`` or ``data/chat_history_128k``, with the questions
in ``benchmark/text/benchmark.csv`` beside ``data``, as bowen-upenn/PersonaMem-v2 publishes them and
its ``inference.py`` reads them: a row has ``user_query`` (a message as JSON), ``correct_answer``,
``incorrect_answers`` (a JSON list), ``pref_type`` and the link of its history, a list of ``{"role",
"content"}`` or ``{"chat_history": […]}``. System messages, which state the persona, are left out.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, cast

from theanine.errors import BadInput
from theanine.types import History
from theanine_bench.datasets.formats import QaFormat
from theanine_bench.datasets.reading import (
    ASSISTANT,
    USER,
    PlainQuestion,
    PlainTurn,
    build_history,
    build_sample,
    records,
)
from theanine_bench.files import read_json
from theanine_bench.metrics.choice import CHOICE, format_options
from theanine_bench.samples import Group, Stage

QUESTIONS = Path("benchmark", "text", "benchmark.csv")
_LINKS = ("chat_history_32k", "chat_history_128k")
Row = Mapping[str, str]


def _questions_file(folder: Path) -> Path:
    return folder.resolve().parents[1] / QUESTIONS


def _matches(path: Path, document: Any) -> bool:
    return path.is_dir() and path.resolve().name in _LINKS and _questions_file(path).is_file()


def _read(path: Path, document: Any) -> list[Group]:
    """Return a group a history. Raises BadInput with the place of a fault."""
    file = _questions_file(path)
    column = f"{path.resolve().name}_link"
    by_history: dict[str, list[tuple[int, Row]]] = defaultdict(list)
    dropped = Counter[str]()
    for number, row in enumerate(_rows(file), 2):
        for name in (column, "user_query", "correct_answer", "incorrect_answers"):
            if name not in row:
                raise BadInput(f"the column {name} is missing", str(file))
        link = Path(row[column] or "")
        if not (path / link.name).is_file():
            dropped["questions whose history is not in the folder"] += 1
            continue
        by_history[link.name].append((number, row))
    if not by_history:
        raise BadInput(f"no question's history is in it; {file.name} names other files", str(path))
    groups = [
        _group(_history(path / name), rows, file) for name, rows in sorted(by_history.items())
    ]
    first, *rest = groups
    return [replace(first, dropped=dict(+(Counter(first.dropped) + dropped))), *rest]


def _rows(file: Path) -> Iterator[Row]:
    csv.field_size_limit(sys.maxsize)
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            yield from csv.DictReader(text)
    except (OSError, ValueError, csv.Error) as error:
        raise BadInput(f"can't be read: {error}", str(file)) from None


def _history(file: Path) -> History:
    document = read_json(file)
    if isinstance(document, dict):
        document = cast("dict[str, Any]", document).get("chat_history")
    turns = [
        PlainTurn(
            speaker=ASSISTANT if row["role"] == ASSISTANT else USER,
            text=str(row["content"]),
            role="assistant" if row["role"] == ASSISTANT else "user",
        )
        for row in records(document)
        if row.get("role") in (USER, ASSISTANT) and str(row.get("content") or "").strip()
    ]
    if not turns:
        raise BadInput('a list of {"role", "content"} is expected', str(file))
    return build_history(file.stem, [(file.stem, turns)])


def _group(history: History, rows: list[tuple[int, Row]], file: Path) -> Group:
    samples = tuple(
        build_sample(_question(row, f"{history.name}/{number}", f"{file}, row {number}"), [history])
        for number, row in rows
    )
    return Group(id=history.name, stages=(Stage(histories=(history,), samples=samples),))


def _question(row: Row, id: str, where: str) -> PlainQuestion:
    """Return a question that lists its options, in an order of its own."""
    options = [row["correct_answer"], *_incorrect(row["incorrect_answers"], where)]
    Random(id).shuffle(options)
    letter = chr(ord("A") + options.index(row["correct_answer"]))
    return PlainQuestion(
        id=id,
        text=f"{_query(row['user_query'])}\n\n{format_options(options)}",
        answer=row["correct_answer"],
        category=row.get("pref_type") or "",
        extra={CHOICE: letter},
    )


def _incorrect(text: str, where: str) -> list[str]:
    try:
        options = json.loads(text)
    except ValueError:
        options = None
    if not isinstance(options, list) or not options:
        raise BadInput("incorrect_answers is no JSON list of texts", where)
    return list(map(str, cast("list[Any]", options)))


def _query(text: str) -> str:
    """Return what the user says: the content of a message as JSON, or the text itself."""
    try:
        message = json.loads(text)
    except ValueError:
        return text.strip()
    content = cast("dict[str, Any]", message).get("content") if isinstance(message, dict) else None
    return str(content or text).strip()


FORMAT = QaFormat(name="PersonaMem-v2", matches=_matches, read=_read)
