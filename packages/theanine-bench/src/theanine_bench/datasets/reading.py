"""Shared parts of the data-set readers: parsed files, undated histories, samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, cast

from theanine.errors import BadInput
from theanine.importers.dates import Calendar
from theanine.types import History, Role, Transcript, Utterance
from theanine_bench.samples import Group, Sample

Record = Mapping[str, Any]
USER, ASSISTANT = "user", "assistant"
PAUSE = timedelta(minutes=1)
"""Time between the last turn and its question, for sets without question times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainTurn:
    """A turn without a time."""

    speaker: str
    text: str
    role: Role = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainQuestion:
    """A question after a history.

    Attributes:
        before: earlier turns of the same session.
        speaker: who asks.
        answers: who answers.
        extra: as of :class:`theanine_bench.samples.Sample`.
    """

    id: str
    text: str
    answer: str = ""
    category: str = ""
    before: Sequence[PlainTurn] = ()
    speaker: str = USER
    answers: str = ASSISTANT
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


def records(document: Any) -> list[Record]:
    """Return the objects of a list, or a single object as a list; other values are left out."""
    items = cast("list[Any]", document) if isinstance(document, list) else [document]
    return [cast("Record", item) for item in items if isinstance(item, dict)]


def build_history(
    name: str,
    sessions: Iterable[tuple[str, Sequence[PlainTurn]]],
    notes: Mapping[str, int] | None = None,
) -> History:
    """Build a history of undated sessions, given by key; the keys of turns count from 1.

    Sessions without turns are left out. ``notes`` counts what was odd in the source.
    """
    calendar = Calendar(None)
    transcripts: list[Transcript] = []
    for key, turns in sessions:
        if not turns:
            continue
        times = calendar.place(len(turns), None, name)
        utterances = [
            Utterance(text=turn.text, speaker=turn.speaker, role=turn.role, at=at, key=str(number))
            for number, (turn, at) in enumerate(zip(turns, times, strict=True), 1)
        ]
        transcripts.append(Transcript(key=key, turns=utterances, at=times[0], dated=False))
    return History(name=name, transcripts=transcripts, notes=dict(notes or {}))


def build_sample(question: PlainQuestion, histories: Iterable[History]) -> Sample:
    """Build the sample of a question that is asked a minute after the histories' last turn."""
    last = max(turn.at for one in histories for t in one.transcripts for turn in t.turns)
    dialogue = [*question.before, PlainTurn(speaker=question.speaker, text=question.text)]
    return Sample(
        id=question.id,
        category=question.category,
        dialogue=tuple(
            Utterance(text=turn.text, speaker=turn.speaker, role=turn.role, at=last + PAUSE * i)
            for i, turn in enumerate(dialogue, 1)
        ),
        reference=question.answer,
        speaker=question.answers,
        extra=question.extra,
    )


def keep_askable(groups: Sequence[Group], plural: str, where: str) -> list[Group]:
    """Return the groups with samples; the others are counted in ``dropped`` of the first.

    ``plural`` names the groups. Raises BadInput if no group has samples.
    """
    askable = [group for group in groups if group.samples]
    if not askable:
        raise BadInput(f"none of its {plural} has both words and a question", where)
    dropped = Counter({f"{plural} that can't be asked": len(groups) - len(askable)})
    for group in groups:
        dropped.update({} if group.samples else group.dropped)
    first, *rest = askable
    return [replace(first, dropped=dict(+(Counter(first.dropped) + dropped))), *rest]


def surrounding_indices(index: int, count: int, others: int) -> list[int]:
    """Return the indexes of ``others`` samples around one of ``count``, in order, without it.

    At either end they are all on one side. SeCom (appendix A.9) joins samples like this.
    """
    first = max(0, min(index - others // 2, count - others - 1))
    return [i for i in range(first, min(first + others + 1, count)) if i != index]
