"""Our own JSON Lines with questions: turns as ``theanine import`` reads them, then questions.

A question is ``{"user", "question", "sources": [turn keys], "category"?, "answer"?, "at"?}``, where
``sources`` are the turns that answer it; their keys must be unique in the user's history. It is
asked at that time, by default right after the last turn.
"""

from __future__ import annotations

import json
from collections import defaultdict
from io import StringIO
from pathlib import Path
from typing import Any

from pydantic import AwareDatetime, BaseModel

from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine_bench.datasets.formats import LabeledFormat, first_record
from theanine_bench.datasets.labels import LabeledHistory, Question, resolve_labels
from theanine_bench.validation import AnyAsText, OptionalAsText, Text, validate


class _Question(BaseModel):
    user: Text
    question: Text
    sources: list[AnyAsText]
    category: OptionalAsText = ""
    answer: OptionalAsText = ""
    at: AwareDatetime | None = None


def _read(path: Path, document: Any) -> list[LabeledHistory]:
    questions: dict[str, list[Question]] = defaultdict(list)
    turns: list[str] = []
    for number, record in enumerate(document, 1):
        if "question" not in record:
            turns.append(json.dumps(record))
            continue
        one = validate(_Question, record, str(path), f"line {number}")
        questions[one.user].append(
            Question(
                id=f"{one.user}/{len(questions[one.user]) + 1}",
                text=one.question.strip(),
                category=one.category,
                gold=frozenset(("", key) for key in one.sources),
                asked_at=one.at,
                answer=one.answer,
            )
        )
    reading = read_histories(StringIO("\n".join(turns)), format="jsonl", name=path.stem)
    histories = {history.name: history for history in reading.histories}
    if unknown := questions.keys() - histories.keys():
        raise BadInput(f"it has questions of {min(unknown)!r}, but no turns", str(path))
    return [
        resolve_labels(histories[user], asked, unique=True) for user, asked in questions.items()
    ]


FORMAT = LabeledFormat(
    name="JSON Lines",
    matches=lambda path, document: (
        {"speaker", "at"} <= first_record(document).keys() and "question" in document[-1]
    ),
    read=_read,
)
