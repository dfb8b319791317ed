"""LongMemEval: one question each over a haystack of sessions, with answering turns marked."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator

from theanine_bench.datasets.formats import LabeledFormat, first_record
from theanine_bench.datasets.labels import (
    UNREADABLE,
    LabeledHistory,
    Question,
    RecordHistories,
    resolve_labels,
)
from theanine_bench.validation import (
    AnyAsText,
    OptionalAsText,
    OptionalText,
    Text,
    validate,
)


def _parse_date(value: object) -> datetime:
    try:
        return datetime.strptime(f"{value} +0000", "%Y/%m/%d (%a) %H:%M %z")
    except ValueError:
        raise ValueError(f"{value!r} is no date such as 2023/05/30 (Tue) 23:40") from None


class _Record(BaseModel):
    question_id: AnyAsText
    question: Text
    question_type: OptionalText = ""
    question_date: Annotated[datetime, BeforeValidator(_parse_date)]
    answer: OptionalAsText = ""
    haystack_session_ids: list[AnyAsText]
    haystack_sessions: list[list[Any]]
    answer_session_ids: list[AnyAsText]


def _read(path: Path, document: Any) -> list[LabeledHistory]:
    questions: list[tuple[Question, int]] = []
    for index, value in enumerate(document):
        questions.append(_question(validate(_Record, value, str(path), f"[{index}]")))
        value.clear()  # the histories are read again below; one copy of them is enough
    histories = RecordHistories(path, "longmemeval")
    labeled: list[LabeledHistory] = []
    for index, (question, unknown) in enumerate(questions):
        dropped = Counter({"sessions of no haystack": unknown})
        history, dropped[UNREADABLE] = histories.take(index, question.id)
        labeled.append(resolve_labels(history, [question], unique=False, dropped=dropped))
    return labeled


def _question(record: _Record) -> tuple[Question, int]:
    """Return the question, and how many of its answering sessions are not in the haystack."""
    answering = set(record.answer_session_ids)
    sessions = zip(record.haystack_session_ids, record.haystack_sessions, strict=False)
    gold = frozenset(
        (f"{record.question_id}/{session}", str(number))
        for session, turns in sessions
        if session in answering
        for number, turn in enumerate(turns, 1)
        if isinstance(turn, dict) and cast("dict[str, Any]", turn).get("has_answer")
    )
    question = Question(
        id=record.question_id,
        text=record.question,
        category=record.question_type,
        gold=gold,
        asked_at=record.question_date,
        answer=record.answer,
        answerable=not record.question_id.endswith("_abs"),
    )
    return question, len(answering - set(record.haystack_session_ids))


FORMAT = LabeledFormat(
    name="LongMemEval",
    matches=lambda path, document: "haystack_sessions" in first_record(document),
    read=_read,
)
