"""Pairs of an older and a newer statement, labeled with the relation that a timeline should draw.

A file of pairs has one JSON object a line: ``{"id", "set", "history", "older": {"text", "date",
"speaker"}, "newer": {…}, "label", "sure"}``. The bundled labels name turns and statements of
LoCoMo, Multi-Session Chat and the memories published with Theanine; their texts are looked up in
your copy of these sets (:func:`read_bundled`).
"""

from __future__ import annotations

import json
import re
from calendar import month_name
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator

from theanine.errors import BadInput
from theanine.types import Relation
from theanine_bench.files import read_json
from theanine_bench.validation import OptionalAsText, validate

NONE = "None"
LABELS = (*map(str, Relation), NONE)
_DAY = re.compile(r"(\d{1,2}) (\w+),? (\d{4})")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedStatement:
    """The older or the newer statement of a labeled pair.

    Attributes:
        day: when it was said; None if unknown.
        speaker: who said it; empty for a statement in the third person.
        reference: its id in its history; empty if the file has none.
    """

    text: str
    day: date | None = None
    speaker: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabeledPair:
    """A pair and its label.

    Attributes:
        part: the set that its history is from, such as ``locomo``.
        label: a relation, or ``None``.
        second_label: by a second reader who did not see the first label; empty without one.
        sure: whether the first reader found the label clear.
    """

    id: str
    part: str
    history: str
    older: PairedStatement
    newer: PairedStatement
    label: str
    second_label: str = ""
    sure: bool = True

    @property
    def agreed(self) -> bool:
        """Whether no second reader disagrees."""
        return self.second_label in ("", self.label)


def _label(value: object) -> object:
    if value not in LABELS:
        raise ValueError(f"{value!r} is no label: use one of {', '.join(LABELS)}")
    return value


class _Side(BaseModel):
    text: str
    date: OptionalAsText = ""
    speaker: OptionalAsText = ""
    ref: OptionalAsText = ""


class _Pair(BaseModel):
    id: Annotated[str, BeforeValidator(str)]
    set: OptionalAsText = ""
    history: OptionalAsText = ""
    older: _Side
    newer: _Side
    label: Annotated[str, BeforeValidator(_label)]
    second_label: OptionalAsText = ""
    sure: bool = True


def read_pairs(path: Path) -> list[LabeledPair]:
    """Read a file of labeled pairs. Raises BadInput with the line of the first fault."""
    pairs: list[LabeledPair] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except ValueError as error:
            raise BadInput(f"{path}, line {number}: not JSON: {error}") from None
        pairs.append(_pair(validate(_Pair, document, f"{path}, line {number}")))
    if not pairs:
        raise BadInput(f"{path}: no pairs, nothing can be measured")
    return pairs


def _pair(pair: _Pair) -> LabeledPair:
    return LabeledPair(
        id=pair.id,
        part=pair.set,
        history=pair.history,
        older=_side(pair.older),
        newer=_side(pair.newer),
        label=pair.label,
        second_label=pair.second_label,
        sure=pair.sure,
    )


def _side(side: _Side) -> PairedStatement:
    return PairedStatement(
        text=side.text, day=_day(side.date), speaker=side.speaker, reference=side.ref
    )


def _day(text: str) -> date | None:
    if match := _DAY.search(text):
        day, month, year = match.groups()
        return date(int(year), list(month_name).index(month), int(day))
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def bundled_labels() -> list[dict[str, Any]]:
    """Return the bundled labels, without texts."""
    text = (files("theanine_bench.datasets") / "link_labels.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def read_bundled(root: Path) -> list[LabeledPair]:
    """Return the bundled labels with their texts from a folder of data.

    The folder has ``locomo``, ``msc/msc_personasummary`` and ``memories`` (see
    ``docs/benchmarks``); pairs whose set is absent are left out.
    """
    statements = read_statements(root)
    pairs: list[LabeledPair] = []
    for label in bundled_labels():
        older = statements.get((label["history"], label["older"]))
        newer = statements.get((label["history"], label["newer"]))
        if older and newer:
            pairs.append(
                LabeledPair(
                    id=label["id"],
                    part=label["set"],
                    history=label["history"],
                    older=older,
                    newer=newer,
                    label=label["label"],
                    second_label=label["second_label"] or "",
                    sure=label["sure"],
                )
            )
    return pairs


Statements = Mapping[tuple[str, str], PairedStatement]
"""Statements by history and id."""


def read_statements(root: Path) -> Statements:
    """Return all turns and statements that the bundled labels can name."""
    return {**_locomo(root / "locomo"), **_memories(root / "memories"), **_msc(root / "msc")}


def _locomo(folder: Path) -> Statements:
    found: dict[tuple[str, str], PairedStatement] = {}
    for path in sorted(folder.glob("*.json")):
        for sample in cast("list[Any]", read_json(path)):
            conversation = sample["conversation"]
            for name, turns in conversation.items():
                if not isinstance(turns, list):
                    continue
                day = _day(conversation.get(f"{name}_date_time", ""))
                for turn in cast("list[Any]", turns):
                    found[sample["sample_id"], turn["dia_id"]] = PairedStatement(
                        text=turn["text"],
                        day=day,
                        speaker=turn["speaker"],
                        reference=turn["dia_id"],
                    )
    return found


def _memories(folder: Path) -> Statements:
    return {
        (sample["dataID"], reference): PairedStatement(text=text, reference=reference)
        for path in sorted(folder.glob("*_session_memories*.json"))
        for sample in cast("list[Any]", read_json(path))
        for reference, text in sample["summary"].items()
    }


def _msc(folder: Path) -> Statements:
    found: dict[tuple[str, str], PairedStatement] = {}
    for path in sorted(folder.glob("msc_personasummary/session_*/valid.jsonl")):
        session = path.parent.name.removeprefix("session_")
        for line in path.read_text("utf-8").splitlines():
            sample = json.loads(line)
            for number, turn in enumerate(sample["dialog"], 1):
                reference = f"s{session}-t{number}"
                found[sample["initial_data_id"], reference] = PairedStatement(
                    text=turn["text"],
                    speaker="Speaker B" if number % 2 == 0 else "Speaker A",
                    reference=reference,
                )
    return found
