"""LoCoMo: conversations of two people; questions with the ids of the turns that answer them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from theanine_bench.datasets.formats import LabeledFormat, first_record
from theanine_bench.datasets.labels import (
    UNREADABLE,
    LabeledHistory,
    Question,
    RecordHistories,
    TurnRef,
    resolve_labels,
)
from theanine_bench.validation import AnyAsText, OptionalAsText, OptionalText, validate

ADVERSARIAL = 5
CATEGORIES = {
    "1": "multi-hop",
    "2": "temporal",
    "3": "open",
    "4": "single-hop",
    "5": "adversarial",
}
_TURN_ID = re.compile(r"D\d+:\d+")


class _Question(BaseModel):
    question: OptionalText = ""
    category: Any = None
    answer: OptionalAsText = ""
    evidence: Any = None


class _Record(BaseModel):
    sample_id: AnyAsText
    qa: list[_Question]


def _read(path: Path, document: Any) -> list[LabeledHistory]:
    records = [
        validate(_Record, value, str(path), f"[{index}]") for index, value in enumerate(document)
    ]
    histories = RecordHistories(path, "locomo")
    labeled: list[LabeledHistory] = []
    for index, record in enumerate(records):
        dropped = Counter[str]()
        questions = [
            Question(
                id=f"{record.sample_id}/{number}",
                text=one.question.strip(),
                category=CATEGORIES.get(str(one.category), str(one.category)),
                answer=one.answer,
                answerable=one.category != ADVERSARIAL,
                gold=_turn_ids(one.evidence, dropped),
            )
            for number, one in enumerate(record.qa, 1)
        ]
        history, dropped[UNREADABLE] = histories.take(index, record.sample_id)
        labeled.append(resolve_labels(history, questions, unique=True, dropped=dropped))
    return labeled


def _turn_ids(evidence: Any, dropped: Counter[str]) -> frozenset[TurnRef]:
    """Return the turns in a label, which may be a text with several; count what is no id."""
    listed = cast("list[Any]", evidence) if isinstance(evidence, list) else [evidence]
    text = " ".join(str(one) for one in listed if one is not None)
    dropped["labels that can't be read"] += len(_TURN_ID.sub(" ", text).replace(";", " ").split())
    return frozenset(("", turn) for turn in _TURN_ID.findall(text))


FORMAT = LabeledFormat(
    name="LoCoMo", matches=lambda path, document: "qa" in first_record(document), read=_read
)
