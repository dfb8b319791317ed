"""A run of the retrieval bench: its questions with what was found, what it was, and its file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import theanine
from theanine.errors import BadInput
from theanine_bench.metrics.intervals import Interval, bootstrap_interval
from theanine_bench.metrics.paired import PairedComparison

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A turn that a question needs, and the rank of the first unit with it; None: not ranked."""

    speaker: str
    text: str
    rank: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One question's outcome: each measure by name, and how long the ranking took."""

    id: str
    category: str
    asked: str
    evidence: Sequence[Evidence]
    measures: Mapping[str, float]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run over a set.

    Attributes:
        settings: those of the unit's method that were asked for, by name.
        embedder, reranker: their full names; the latter is empty when there is none.
        conversations, turns: how many were remembered.
        dropped: labels that could not be used, by reason.
        index_bytes: of all stores together, less the words of their turns.
        data, sha256: what was read, as it was named, and the hash of it.
        command: what repeats the run.
        version: of theanine.
        ablations: by the part of the ranking that was left out, the run without it (ours) held
            against this one (theirs).
    """

    unit: str
    retrieval: str
    items: Sequence[Item]
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    embedder: str = ""
    reranker: str = ""
    conversations: int = 0
    turns: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])
    index_bytes: int = 0
    remember_seconds: float = 0.0
    data: str = ""
    sha256: str = ""
    command: str = ""
    version: str = theanine.__version__
    ablations: Mapping[str, Sequence[PairedComparison]] = field(
        default_factory=dict[str, Sequence[PairedComparison]]
    )

    def measures(self, category: str | None = None) -> dict[str, Interval]:
        """Each measure's mean with its interval, over all questions or those of a category."""
        chosen = [item for item in self.items if category in (None, item.category)]
        names = chosen[0].measures if chosen else ()
        return {
            name: bootstrap_interval([item.measures[name] for item in chosen]) for name in names
        }

    @property
    def categories(self) -> list[str]:
        """The categories, sorted."""
        return sorted({item.category for item in self.items})

    def seconds(self, share: float) -> float:
        """The time of a recall that so large a share of all stays below; 0.5 for the median."""
        times = sorted(item.seconds for item in self.items)
        return times[int(len(times) * share)]


@cache
def _form() -> TypeAdapter[Run]:
    from pydantic import TypeAdapter

    return TypeAdapter(Run)


def lines_of_run(run: Run) -> str:
    """The run as JSON Lines: first what it was, then a line a question."""
    told = _form().dump_python(run, mode="json")
    items = told.pop("items")
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in (told, *items))


def read_retrieved(file: Path) -> Run:
    """The run of such a file. Raises BadInput for any other file."""
    try:
        lines = file.read_text("utf-8").split("\n")
        told, *items = [json.loads(line) for line in lines if line]
        return _form().validate_python({**told, "items": items})
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise BadInput(
            f"no items of a run, as `bench retrieval --out` writes them: {reason}", str(file)
        ) from None
