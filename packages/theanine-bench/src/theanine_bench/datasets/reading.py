"""What the readers of data sets share: parsed files, undated histories, questions as cases."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

from theanine.errors import BadInput
from theanine.importers.dates import Calendar
from theanine.types import History, Role, Transcript, Utterance
from theanine_bench.samples import Group, Sample

Record = Mapping[str, Any]
USER, ASSISTANT = "user", "assistant"
PAUSE = timedelta(minutes=1)
"""How long after the last turn a question is asked where the set doesn't say when."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainTurn:
    """A turn without a time."""

    speaker: str
    text: str
    role: Role = "user"


def load_json(path: Path) -> Any:
    """A file of JSON, or of JSON Lines as a list. Raises BadInput."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise BadInput(f"can't be read: {error.strerror}", str(path)) from None
    except ValueError:
        raise BadInput("it is no text in UTF-8", str(path)) from None
    if not text.strip():
        raise BadInput("it is empty", str(path))
    try:
        return json.loads(text)
    except RecursionError:
        raise BadInput("its JSON is nested too deeply", str(path)) from None
    except ValueError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2 or not lines[0].lstrip().startswith(("{", "[")):
            raise BadInput(f"can't be read as JSON: {error}", str(path)) from None
    read: list[Any] = []
    for number, line in enumerate(lines, 1):
        try:
            read.append(json.loads(line))
        except ValueError as error:
            raise BadInput(f"can't be read as JSON: {error}", f"{path}, line {number}") from None
    return read


def records(document: Any) -> list[Record]:
    """The objects of a list; of one object, itself. What is no object is left out."""
    items = cast("list[Any]", document) if isinstance(document, list) else [document]
    return [cast("Record", item) for item in items if isinstance(item, dict)]


def build_history(
    name: str,
    sessions: Iterable[tuple[str, Sequence[PlainTurn]]],
    notes: Mapping[str, int] | None = None,
) -> History:
    """Undated sessions, by key, on a made-up calendar; turns are named by their place, from 1.

    Sessions without a turn are left out. ``notes`` say what was odd in the source.
    """
    calendar = Calendar(None)
    transcripts: list[Transcript] = []
    for key, lines in sessions:
        if not lines:
            continue
        times = calendar.place(len(lines), None, name)
        turns = [
            Utterance(text=line.text, speaker=line.speaker, role=line.role, at=at, key=str(place))
            for place, (line, at) in enumerate(zip(lines, times, strict=True), 1)
        ]
        transcripts.append(Transcript(key=key, turns=turns, at=times[0], dated=False))
    return History(name=name, transcripts=transcripts, notes=dict(notes or {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainQuestion:
    """A question after a history, and what was said in the same session before it."""

    id: str
    text: str
    answer: str = ""
    category: str = ""
    before: Sequence[PlainTurn] = ()
    speaker: str = USER
    answers: str = ASSISTANT
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


def build_sample(asked: PlainQuestion, histories: Iterable[History]) -> Sample:
    """The question as a case, a minute after the histories' last turn."""
    last = max(turn.at for one in histories for t in one.transcripts for turn in t.turns)
    said = [*asked.before, PlainTurn(speaker=asked.speaker, text=asked.text)]
    return Sample(
        id=asked.id,
        category=asked.category,
        dialogue=tuple(
            Utterance(text=line.text, speaker=line.speaker, role=line.role, at=last + PAUSE * place)
            for place, line in enumerate(said, 1)
        ),
        reference=asked.answer,
        speaker=asked.answers,
        extra=asked.extra,
    )


def keep_askable(groups: Sequence[Group], what: str, where: str) -> list[Group]:
    """Those that are asked anything; how many are not is counted with the first.

    Raises BadInput, with ``where``, when there is none. ``what`` names a group, in the plural.
    """
    found = [group for group in groups if group.samples]
    if not found:
        raise BadInput(f"none of its {what} has both words and a question", where)
    lost = Counter({f"{what} that can't be asked": len(groups) - len(found)})
    for group in groups:
        lost.update({} if group.samples else group.dropped)
    first, *rest = found
    return [replace(first, dropped=dict(+(Counter(first.dropped) + lost))), *rest]


def surrounding_indices(place: int, count: int, others: int) -> list[int]:
    """The places of ``others`` samples around one of ``count``, in order, without itself.

    At an end, all are from the side that there is. SeCom (appendix A.9) joins samples so.
    """
    first = max(0, min(place - others // 2, count - others - 1))
    return [one for one in range(first, min(first + others + 1, count)) if one != place]
