"""MT-Bench+ (MemoChat): turns with topic ids, and a closing question about one or two topics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from theanine.errors import BadInput
from theanine.types import History, Transcript, Utterance
from theanine_bench.datasets.formats import LabeledFormat, first_record
from theanine_bench.datasets.labels import LabeledHistory, Question, resolve_labels
from theanine_bench.files import read_json
from theanine_bench.validation import AnyAsText, OptionalText, validate

START = datetime(2000, 1, 1, tzinfo=UTC)
"""The chats have no dates; a made-up one keeps their turns in order."""
_TOPIC = re.compile(r"[a-z]+-\d+")


class _Turn(BaseModel):
    value: OptionalText = ""
    speaker: Any = Field(None, alias="from")
    info: Any = Field(None, alias="turn-info")

    @property
    def topics(self) -> set[str]:
        return set(_TOPIC.findall(str(self.info or "")))


class _Record(BaseModel):
    id: AnyAsText
    type: OptionalText = ""
    conversations: list[_Turn]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosingQuestion:
    """A chat's closing question, written by a person.

    Attributes:
        turns: the texts of the chat's other turns.
        evidence: those on the question's topics.
    """

    text: str
    turns: frozenset[str]
    evidence: frozenset[str]


def read_closing_questions(path: Path) -> list[ClosingQuestion]:
    """Return the closing questions of a file. Raises BadInput with a fault's place."""
    return [
        ClosingQuestion(
            text=closing.value,
            turns=frozenset(turn.value for turn in turns),
            evidence=frozenset(turn.value for turn in turns if closing.topics & turn.topics),
        )
        for _, turns, closing in _chats(path, read_json(path))
    ]


def _chats(path: Path, document: Any) -> Iterator[tuple[_Record, list[_Turn], _Turn]]:
    """Yield each chat with its turns that have words, and its closing question."""
    for index, value in enumerate(document):
        record = validate(_Record, value, str(path), f"[{index}]")
        spoken = [turn for turn in record.conversations if turn.value.strip()]
        if len(spoken) < 2:
            raise BadInput(
                "it needs a turn with words, and a question after it",
                f"{path}, [{index}].conversations",
            )
        *turns, closing = spoken
        yield record, turns, closing


def _read(path: Path, document: Any) -> list[LabeledHistory]:
    labeled: list[LabeledHistory] = []
    for record, turns, closing in _chats(path, document):
        utterances = [_utterance(turn, number) for number, turn in enumerate(turns, 1)]
        transcript = Transcript(key=record.id, turns=utterances, at=utterances[0].at, dated=False)
        question = Question(
            id=record.id,
            text=closing.value,
            category=record.type,
            gold=frozenset(
                ("", f"t{number}")
                for number, turn in enumerate(turns, 1)
                if closing.topics & turn.topics
            ),
        )
        history = History(name=record.id, transcripts=[transcript])
        labeled.append(resolve_labels(history, [question], unique=True))
    return labeled


def _utterance(turn: _Turn, number: int) -> Utterance:
    is_user = turn.speaker == "human"
    return Utterance(
        text=turn.value,
        speaker="user" if is_user else "assistant",
        role="user" if is_user else "assistant",
        at=START + timedelta(minutes=number),
        key=f"t{number}",
    )


FORMAT = LabeledFormat(
    name="MT-Bench+",
    matches=lambda path, document: "conversations" in first_record(document),
    read=_read,
)
