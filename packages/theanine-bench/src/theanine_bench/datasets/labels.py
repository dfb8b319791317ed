"""Questions labeled with the turns that answer them, and the histories that they are about.

Labels are dirty: an id that is no turn's is dropped and counted; so is a question without words.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from theanine.errors import BadInput
from theanine.importers import read_histories
from theanine.importers.base import Rejected
from theanine.types import History, Utterance

TurnRef = tuple[str, str]
"""A turn: its session's key (empty if turn keys are unique in the history) and its own key."""
UNREADABLE = "turns that can't be read"
UNLABELED = "questions without evidence"
_RECORD = re.compile(r", \[(\d+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with the turns that answer it.

    Attributes:
        gold: the labeled turns; empty if unknown.
        asked_at: aware; None for right after the last session.
        answer: reference answer; empty if the set has none.
        answerable: False if the history doesn't contain the answer.
        rubric: what an answer must do, point by point, if the set says so.
        ordered: whether the rubric lists events whose order counts.
    """

    id: str
    text: str
    category: str
    gold: frozenset[TurnRef]
    asked_at: datetime | None = None
    answer: str = ""
    answerable: bool = True
    rubric: tuple[str, ...] = ()
    ordered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LabeledHistory:
    """A history and its questions.

    Attributes:
        unlabeled: questions whose evidence is unknown; they can be asked all the same.
        dropped: the number of labels and questions that were dropped, by reason.
    """

    history: History
    questions: tuple[Question, ...]
    unlabeled: tuple[Question, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])


def resolve_labels(
    history: History,
    questions: Iterable[Question],
    unique: bool,
    dropped: Mapping[str, int] | None = None,
) -> LabeledHistory:
    """Return a history with its questions, without labels that name none of its turns.

    Args:
        unique: whether turn keys are unique in the history, not only in their session.
        dropped: what was dropped before, to be added to the counts.
    """
    turns = {
        ("" if unique else transcript.key, turn.key or f"#{number}")
        for transcript in history.transcripts
        for number, turn in enumerate(transcript.turns, 1)
    }
    labeled: list[Question] = []
    unlabeled: list[Question] = []
    counts = Counter(dropped or {})
    for question in questions:
        if not question.text:
            counts["questions without words"] += 1
            continue
        gold = question.gold & turns
        counts["labels of no turn"] += len(question.gold - turns)
        counts[UNLABELED] += not gold
        (labeled if gold else unlabeled).append(replace(question, gold=gold))
    return LabeledHistory(
        history=history,
        questions=tuple(labeled),
        unlabeled=tuple(unlabeled),
        dropped=dict(+counts),
    )


def find_turns(labels: Collection[TurnRef], history: History) -> dict[TurnRef, Utterance]:
    """Return the turns of a history that these labels name, by label, in time order."""
    return {
        (session, key): turn
        for transcript in history.transcripts
        for number, turn in enumerate(transcript.turns, 1)
        for session in ("", transcript.key)
        if (session, key := turn.key or f"#{number}") in labels
    }


class RecordHistories:
    """The histories of a file with a list of records, and the faults of each record."""

    def __init__(self, path: Path, format: str) -> None:
        reading = read_histories(path, format=format, keep_going=True)
        self._path = path
        self._histories = {history.name: history for history in reading.histories}
        self._faults = defaultdict[int, list[Rejected]](list)
        for rejected in reading.rejected:
            if match := _RECORD.search(rejected.where):
                self._faults[int(match[1])].append(rejected)

    def take(self, index: int, name: str) -> tuple[History, int]:
        """Remove and return the history of a record, and its number of unreadable turns.

        Raises BadInput if nothing of it could be read.
        """
        faults = self._faults.get(index, [])
        return take_history(self._histories, name, f"{self._path}, [{index}]", faults), len(faults)


def take_history(
    histories: dict[str, History], name: str, where: str, faults: Sequence[Rejected]
) -> History:
    """Remove and return a history by name. Raises BadInput, saying why it is missing."""
    if name in histories:
        return histories.pop(name)
    why = f"{faults[0].where}: {faults[0].reason}" if faults else "its name is given twice"
    raise BadInput(f"nothing of {name!r} can be read: {why}", where)
