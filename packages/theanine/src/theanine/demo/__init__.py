"""The bundled conversation: Ana and her assistant Theo over a year, and questions about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, cast

HARBOUR = Path(__file__).with_name("harbour.jsonl")
"""Ten dated sessions of the user ``ana``, in our JSON Lines."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about the conversation.

    Attributes:
        kind: ``change``, ``cause``, ``time``, ``hindrance`` or ``fact``.
        answer: the reference answer.
        sources: keys of turns that support the answer; a recollection should hold one of them.
    """

    kind: str
    question: str
    answer: str
    sources: tuple[str, ...]


class _Row(TypedDict):
    kind: str
    question: str
    answer: str
    sources: list[str]


def load_questions() -> tuple[Question, ...]:
    """Return the five questions that the demo asks."""
    file = Path(__file__).with_name("questions.json")
    rows = cast("list[_Row]", json.loads(file.read_text(encoding="utf-8")))
    return tuple(
        Question(row["kind"], row["question"], row["answer"], tuple(row["sources"])) for row in rows
    )
