"""Stored ratings and their results: majority, mean, Fleiss' kappa, Krippendorff's alpha."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from theanine.errors import BadInput
from theanine.private_files import make_folder
from theanine_bench.files import append_line, read_lines
from theanine_bench.rating.forms import FormQuestion, RatingForm
from theanine_bench.rating.tasks import RatingTask
from theanine_bench.statistics.agreement import (
    fleiss_kappa,
    krippendorff_alpha,
    majority,
    squared_difference,
)

MAX_NAME_BYTES = 80
"""Maximum length of a rater's name in UTF-8; each byte may take three in the file's name."""
MAX_NOTE_LENGTH = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """A rater's answers to the questions of a task, by question, and a note."""

    task: str
    answers: Mapping[str, str]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingResult:
    """The raters' answers to one question.

    Attributes:
        raters: how many answered it for any task.
        rated: tasks with at least one answer.
        shares: label → share of the rated tasks with that majority; ``undecided`` without one.
        mean: of all points, for questions with a scale; else None.
        kappa: Fleiss' kappa over ``compared`` tasks: those with the largest number of raters. None
            below two raters and if all answers are the same.
        alpha: Krippendorff's alpha over all tasks with two raters or more: of points on an interval
            scale, else nominal. None as for ``kappa``.
    """

    question: str
    raters: int
    rated: int
    shares: Mapping[str, float]
    mean: float | None = None
    kappa: float | None = None
    compared: int = 0
    alpha: float | None = None


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings of a form's tasks: in ``folder``, a JSON Lines file for each rater.

    The last line about a task counts.
    """

    folder: Path
    form: RatingForm
    tasks: Sequence[RatingTask]

    def add(self, rater: str, rating: Rating) -> None:
        """Store a rating durably. Raises BadInput for a task or answer that the form lacks."""
        file = self._file(rater)
        if rating.task not in {task.id for task in self.tasks}:
            raise BadInput(f"no task {rating.task!r} in the form {self.form.name}")
        if len(rating.note) > MAX_NOTE_LENGTH:
            raise BadInput(f"a note has at most {MAX_NOTE_LENGTH} characters")
        choices = {
            question.id: {choice.value for choice in question.choices}
            for question in self.form.questions
        }
        for question, value in rating.answers.items():
            if value not in choices.get(question, ()):
                raise BadInput(
                    f"{value!r} is not an answer to {question!r} in the form {self.form.name}"
                )
        make_folder(self.folder)
        append_line(file, json.dumps(asdict(rating), ensure_ascii=False, sort_keys=True))

    def raters(self) -> list[str]:
        """Return the names of the raters, sorted."""
        return sorted(unquote(file.stem) for file in self.folder.glob("*.jsonl"))

    def by_rater(self, rater: str) -> dict[str, Rating]:
        """Return a rater's ratings by task. Raises BadInput for a damaged file or a bad name."""
        ratings: dict[str, Rating] = {}
        for record, where in read_lines(self._file(rater), appended=True):
            try:
                rating = Rating(**record)
            except TypeError:
                raise BadInput("this line is not a rating", where) from None
            ratings[rating.task] = rating
        return ratings

    def results(self) -> list[RatingResult]:
        """Return the results, question by question."""
        ratings = [self.by_rater(rater) for rater in self.raters()]
        return [self._result(question, ratings) for question in self.form.questions]

    def rows(self) -> list[dict[str, Any]]:
        """Return every rating as a flat row: rater, task, a column per question, note."""
        return [
            {"rater": rater, "task": rating.task, **rating.answers, "note": rating.note}
            for rater in self.raters()
            for rating in self.by_rater(rater).values()
        ]

    def _result(
        self, question: FormQuestion, ratings: Sequence[Mapping[str, Rating]]
    ) -> RatingResult:
        labels: dict[str, list[str]] = {}
        raters: set[int] = set()
        for task in self.tasks:
            for rater, rated in enumerate(ratings):
                if task.id in rated and question.id in rated[task.id].answers:
                    label = _label(question, task, rated[task.id].answers[question.id])
                    labels.setdefault(task.id, []).append(label)
                    raters.add(rater)
        majorities = Counter(
            majority(task_labels) or question.undecided or "undecided"
            for task_labels in labels.values()
        )
        points = [
            float(label)
            for task_labels in labels.values()
            for label in task_labels
            if question.scale
        ]
        most = max(map(len, labels.values()), default=0)
        compared = (
            [task_labels for task_labels in labels.values() if len(task_labels) == most]
            if most > 1
            else []
        )
        return RatingResult(
            question=question.id,
            raters=len(raters),
            rated=len(labels),
            shares={label: n / len(labels) for label, n in sorted(majorities.items())},
            mean=sum(points) / len(points) if points else None,
            kappa=fleiss_kappa(compared) if compared else None,
            compared=len(compared),
            alpha=_alpha(question, list(labels.values())),
        )

    def _file(self, rater: str) -> Path:
        name = rater.strip()
        if not name or len(name.encode()) > MAX_NAME_BYTES:
            size = len(name.encode())
            raise BadInput(f"a rater's name has 1 to {MAX_NAME_BYTES} bytes; this one has {size}")
        return self.folder / f"{quote(name, safe='')}.jsonl"


def _alpha(question: FormQuestion, labels: Sequence[Sequence[str]]) -> float | None:
    if question.scale:
        return krippendorff_alpha([list(map(float, each)) for each in labels], squared_difference)
    return krippendorff_alpha(labels)


def _label(question: FormQuestion, task: RatingTask, value: str) -> str:
    """Return the label that an answer counts as; in a comparison, the run that was shown there."""
    value = question.counted.get(value, value)
    if task.sides and value in ("first", "second"):
        return task.sides[value == "second"]
    return value
