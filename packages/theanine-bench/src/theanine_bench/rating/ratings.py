"""Ratings on disk, and what they come to: majority, mean, Fleiss' kappa."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from theanine.errors import BadInput
from theanine_bench.jsonl import append_line, read_lines
from theanine_bench.metrics.agreement import fleiss_kappa, majority
from theanine_bench.rating.forms import FormQuestion, RatingForm
from theanine_bench.rating.tasks import RatingTask

LONGEST_NAME = 80
"""Bytes in UTF-8; each may take three in the name of the rater's file."""
LONGEST_NOTE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """What one rater said of one task: a choice for each question, and perhaps a note."""

    task: str
    answers: Mapping[str, str]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What the raters of a form said, question by question.

    Attributes:
        raters: how many rated anything.
        rated: tasks that at least one rater answered.
        shares: of the tasks, what the majority said, by choice; ``undecided`` where there is none.
        mean: of all points given, for questions with a scale, or None.
        kappa: Fleiss' kappa over the tasks that the same number of raters answered, the largest
            such number; None below two raters or where all said the same.
        compared: how many tasks that kappa is of.
    """

    ask: str
    raters: int
    rated: int
    shares: Mapping[str, float]
    mean: float | None = None
    kappa: float | None = None
    compared: int = 0


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings of a form's tasks; a file for each rater, a line for each change of mind."""

    place: Path
    form: RatingForm
    tasks: Sequence[RatingTask]
    _known: set[str] = field(init=False, default_factory=set[str])

    def __post_init__(self) -> None:
        self._known.update(task.id for task in self.tasks)

    def add(self, rater: str, rating: Rating) -> None:
        """Keep a rating, durably; the last one of a rater counts. Raises BadInput."""
        file = self._file(rater)
        if rating.task not in self._known:
            raise BadInput(f"there is no task {rating.task!r} in the form {self.form.name}")
        if len(rating.note) > LONGEST_NOTE:
            raise BadInput(f"a note has at most {LONGEST_NOTE} characters")
        asks = {ask.id: ask for ask in self.form.questions}
        for ask, choice in rating.answers.items():
            if ask not in asks or choice not in {one.value for one in asks[ask].choices}:
                raise BadInput(f"{choice!r} is no answer to {ask!r} in the form {self.form.name}")
        self.place.mkdir(parents=True, exist_ok=True)
        append_line(file, json.dumps(asdict(rating), ensure_ascii=False, sort_keys=True))

    def raters(self) -> list[str]:
        """Who rated anything, sorted."""
        return sorted(unquote(file.stem) for file in self.place.glob("*.jsonl"))

    def of(self, rater: str) -> dict[str, Rating]:
        """A rater's ratings by task. Raises BadInput for a damaged file, or no name."""
        found: dict[str, Rating] = {}
        for record, where in read_lines(self._file(rater)):
            try:
                rating = Rating(**record)
            except TypeError:
                raise BadInput("it is no rating", where) from None
            found[rating.task] = rating
        return found

    def results(self) -> list[Result]:
        """What it all comes to, question by question."""
        every = {rater: self.of(rater) for rater in self.raters()}
        return [self._result(ask, every) for ask in self.form.questions]

    def rows(self) -> list[dict[str, Any]]:
        """Every rating as a flat row: rater, task, the answers, the note."""
        return [
            {"rater": rater, "task": rating.task, **rating.answers, "note": rating.note}
            for rater in self.raters()
            for rating in self.of(rater).values()
        ]

    def _result(self, ask: FormQuestion, every: Mapping[str, Mapping[str, Rating]]) -> Result:
        said = {
            task.id: [self._counted(ask, task, rating.answers[ask.id]) for rating in given]
            for task in self.tasks
            if (given := [r[task.id] for r in every.values() if _answered(r, task.id, ask)])
        }
        votes = Counter(_decided(ask, labels) for labels in said.values())
        points = [float(label) for labels in said.values() for label in labels if ask.scale]
        most = max(map(len, said.values()), default=0)
        alike = [labels for labels in said.values() if len(labels) == most]
        return Result(
            ask=ask.id,
            raters=sum(any(_answered(r, task, ask) for task in said) for r in every.values()),
            rated=len(said),
            shares={name: count / len(said) for name, count in sorted(votes.items())},
            mean=sum(points) / len(points) if points else None,
            kappa=fleiss_kappa(alike) if most > 1 else None,
            compared=len(alike) if most > 1 else 0,
        )

    def _counted(self, ask: FormQuestion, task: RatingTask, value: str) -> str:
        """The choice as it is counted; of a comparison the run that was meant."""
        value = ask.counted.get(value, value)
        if task.sides and value in ("first", "second"):
            return task.sides[value == "second"]
        return value

    def _file(self, rater: str) -> Path:
        name = rater.strip()
        if not name or len(name.encode()) > LONGEST_NAME:
            raise BadInput(
                f"a rater's name has 1 to {LONGEST_NAME} bytes: as many plain letters, or "
                f"{LONGEST_NAME // 3} of Chinese or Japanese"
            )
        return self.place / f"{quote(name, safe='')}.jsonl"


def _answered(ratings: Mapping[str, Rating], task: str, ask: FormQuestion) -> bool:
    return task in ratings and ask.id in ratings[task].answers


def _decided(ask: FormQuestion, labels: Sequence[str]) -> str:
    return majority(labels) or ask.undecided or "undecided"
