"""The judge bench: how far a judge agrees with people who labeled the same answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import BaseModel, Field

from theanine.errors import BadInput, SettingsError
from theanine.importers.dates import DEFAULT_START
from theanine.llm.chat import ScopedChat
from theanine_bench.files import hash_files, read_lines
from theanine_bench.judges.judge import Judge
from theanine_bench.judges.pairwise import CRITERIA, LETTERS, TIE, PairwiseMetric
from theanine_bench.judges.replies import PERSPECTIVES
from theanine_bench.metrics.registry import registered_metrics
from theanine_bench.runs.folder import parse_result
from theanine_bench.runs.task import Task
from theanine_bench.samples import SampleResult, Score
from theanine_bench.statistics.agreement import cohen_kappa, observed_agreement
from theanine_bench.tasks.answers import scoring_task
from theanine_bench.validation import validate

BENCH = "judge"
LABEL = "label"
BANDS = 5
"""Number of equal bands into which a scale of more than ten numbers is divided for labels."""
_YES = frozenset({"true", "yes", "1", "correct", "right"})
_NO = frozenset({"false", "no", "0", "incorrect", "wrong"})
_EXTRA = {"past", "persona", "evidence", "rubric", "ordered", "answerable"}


def agreement_task(file: Path, name: str, limit: int | None = None) -> Task:
    """Return a task that lets a judge, or a pairwise criterion, label what people have labeled.

    A line of ``file`` is a result of a run (a pairwise run for a criterion) with a ``label``, or
    ``{"question", "answer", "label"}`` with ``reference``, ``dialogue``, ``past``, ``recalled``,
    ``rubric``, ``ordered`` and ``answerable`` if the judge needs them; a criterion takes two
    ``answers`` instead of ``answer``. Raises BadInput for an unusable line, SettingsError for an
    unknown judge.
    """
    judge = PairwiseMetric(criterion=CRITERIA[name]) if name in CRITERIA else find_judge(name)
    results = [_labeled(record, where, judge) for record, where in _records(file)]
    if not results:
        raise BadInput("it holds no labeled result", str(file))
    agreement = [Agreement(judge.name)]
    data = hash_files(file)
    return scoring_task(BENCH, results, [Checked(judge)], agreement, data=data, limit=limit)


def judges() -> dict[str, Judge]:
    """Return the judges of single results, by name."""
    metrics = registered_metrics().items()
    return {name: metric for name, metric in metrics if isinstance(metric, Judge)}


def find_judge(name: str) -> Judge:
    """Return a judge by name, such as ``gpt4score``. Raises SettingsError, listing the names."""
    if name not in judges():
        raise SettingsError(f"unknown judge {name!r}; there are: {', '.join(judges())}")
    return judges()[name]


@dataclass(frozen=True, slots=True)
class Checked:
    """Agreement of a judge's verdict with each label: 1 or 0."""

    judge: Judge | PairwiseMetric
    binary = True

    @property
    def name(self) -> str:
        """The judge's name."""
        return self.judge.name

    @property
    def needs_judge(self) -> bool:
        """True."""
        return True

    @property
    def worst(self) -> Mapping[str, float]:
        """0; labeled results always have an answer."""
        return {f"{self.name}/agrees": 0.0}

    async def score(self, result: SampleResult, judge: ScopedChat | None) -> Score:
        """Return 1 if the judge gives every label, else 0. Raises as the judge does."""
        scored = await self.judge.score(result, judge)
        said = labels_of(self.judge, scored)
        wanted: Mapping[str, str] = result.extra[LABEL]
        agrees = all(said[name] == label for name, label in wanted.items())
        verdict = {**scored.verdict, LABEL: said}
        return Score(values={f"{self.name}/agrees": float(agrees)}, verdict=verdict)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement, Cohen's kappa and the confusion matrix, over the results that were judged.

    ``NAME/kappa`` is left out if all labels are the same; ``NAME: a → b`` counts results that
    people label a and the judge b. Labels with several parts have each of these by part.
    """

    name: str

    def score(self, results: Sequence[SampleResult]) -> Mapping[str, float]:
        """Return the figures by name."""
        judged = [result for result in results if self.name in result.verdicts]
        figures: dict[str, float] = {}
        for part in dict.fromkeys(part for result in judged for part in result.extra[LABEL]):
            pairs = [
                (str(result.extra[LABEL][part]), str(result.verdicts[self.name][LABEL][part]))
                for result in judged
                if part in result.extra[LABEL]
            ]
            figures |= _figures(part, pairs)
        return figures


def _figures(part: str, pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    people, judge = [one for one, _ in pairs], [other for _, other in pairs]
    found = {f"{part}/agreement": observed_agreement(people, judge)}
    kappa = cohen_kappa(people, judge)
    if kappa is not None:
        found[f"{part}/kappa"] = kappa
    counts = Counter(pairs)
    return {**found, **{f"{part}: {a} → {b}": float(counts[a, b]) for a, b in sorted(counts)}}


def labels_of(judge: Judge | PairwiseMetric, scored: Score) -> dict[str, str]:
    """Return the labels that a verdict amounts to, by part, in the words of people's labels."""
    verdict = scored.verdict
    if isinstance(judge, PairwiseMetric):
        return {judge.name: str(verdict["outcome"])}
    if judge.name == "perspectives":
        return {part: str(verdict[part]) for part in PERSPECTIVES}
    if judge.name in ("right", "points", "teafarm"):
        # Neither points nor an open answer have a label: full marks are the first one.
        return {judge.name: str(judge.labels[int(scored.values[judge.name] < 1)])}
    said = next(verdict[key] for key in (LABEL, "verdict", "score") if key in verdict)
    return {judge.name: _band(int(said), judge.labels) if isinstance(said, int) else str(said)}


def _band(number: int, scale: Sequence[str] | range) -> str:
    """Return the label of a number: itself, or on a long scale its band, such as ``60–79``."""
    if len(scale) <= 10 or not isinstance(scale, range):
        return str(number)
    width = len(scale) // BANDS
    band = min((number - scale.start) // width, BANDS - 1)
    low = scale.start + band * width
    high = scale.stop - 1 if band == BANDS - 1 else low + width - 1
    return f"{low}–{high}"


def _records(file: Path) -> Iterator[tuple[dict[str, Any], str]]:
    for record, where in read_lines(file):
        if not isinstance(record, dict) or LABEL not in record:
            raise BadInput('each line is an object with a "label"', where)
        yield cast("dict[str, Any]", record), where


class _Turn(BaseModel):
    speaker: str
    text: str
    role: Literal["user", "assistant"] = "user"
    at: str = DEFAULT_START.isoformat()


class _Short(BaseModel, extra="forbid"):
    """A labeled result in the short form."""

    id: str = ""
    category: str = ""
    question: str = ""
    dialogue: list[_Turn] = Field(default_factory=list[_Turn])
    speaker: str = "assistant"
    reference: str = ""
    answer: str | None = None
    answers: list[str] = Field(default_factory=list[str])
    recalled: list[str] | list[list[str]] = Field(default_factory=list[str])
    past: list[str] | None = None
    persona: list[str] | dict[str, list[str]] | None = None
    evidence: list[str] | list[_Turn] | None = None
    rubric: list[str] | None = None
    ordered: bool | None = None
    answerable: bool | None = None

    def to_result(self) -> SampleResult:
        """Return it as a run's result."""
        dialogue = self.dialogue or [_Turn(speaker="user", text=self.question)]
        extra: dict[str, Any] = {"past": [], **self.model_dump(include=_EXTRA, exclude_none=True)}
        if self.answers:
            extra["candidates"] = self._candidates()
        return SampleResult(
            id=self.id,
            group="labelled",
            category=self.category,
            question=dialogue[-1].text,
            dialogue=[said.model_dump() for said in dialogue],
            speaker=self.speaker,
            reference=self.reference,
            extra=extra,
            answer="" if self.answers else self.answer,
            recalled=[{"text": one, "memories": [], "sources": []} for one in self._texts()],
        )

    def _texts(self) -> list[str]:
        return [one for one in self.recalled if isinstance(one, str)]

    def _candidates(self) -> list[dict[str, object]]:
        lists = [one for one in self.recalled if not isinstance(one, str)]
        return [
            {
                "run": LETTERS[place],
                "answer": words,
                "made_by": "",
                "recalled": lists[place] if place < len(lists) else [],
            }
            for place, words in enumerate(self.answers)
        ]


def _labeled(record: dict[str, Any], where: str, judge: Judge | PairwiseMetric) -> SampleResult:
    label = _label(record.pop(LABEL), where, judge)
    result = parse_result(record, where) if "group" in record else parse_short_form(record, where)
    two = len(result.extra.get("candidates", ())) == 2
    if isinstance(judge, PairwiseMetric) != two:
        wanted = '"answers", two of them' if isinstance(judge, PairwiseMetric) else 'one "answer"'
        raise BadInput(f"{judge.name} needs {wanted}", where)
    if result.answer is None:
        raise BadInput("there is nothing to judge without an answer", where)
    extra = {**result.extra, LABEL: label}
    line = where.rpartition(" ")[2]  # two people may have labeled the same result
    return replace(
        result, id=f"{line}/{result.id}", extra=extra, scores={}, verdicts={}, failures={}
    )


def parse_short_form(record: object, where: str) -> SampleResult:
    """Return an answer from its short form, such as ``{"answer", "reference"}``.

    Without an id, the line's number is the id. Raises BadInput, naming the field at fault.
    """
    result = validate(_Short, record, where).to_result()
    return replace(result, id=result.id or where.rpartition(" ")[2])


def _label(given: object, where: str, judge: Judge | PairwiseMetric) -> dict[str, str]:
    """Return a label in the judge's words, by part. Raises BadInput, listing the labels."""
    if isinstance(given, Mapping):
        parts = cast("Mapping[str, object]", given)
        if judge.name != "perspectives" or not parts or not set(parts) <= set(PERSPECTIVES):
            raise BadInput(f"{judge.name} has no labels of several parts: {given}", where)
        return {part: _parse_label(value, where, judge) for part, value in parts.items()}
    if judge.name == "perspectives":
        raise BadInput(f"label each perspective: {', '.join(PERSPECTIVES)}", where)
    return {judge.name: _parse_label(given, where, judge)}


def _parse_label(given: object, where: str, judge: Judge | PairwiseMetric) -> str:
    words = str(given).strip().casefold()
    labels = (*LETTERS[:2], TIE) if isinstance(judge, PairwiseMetric) else judge.labels
    if isinstance(labels, range):
        number = int(words) if words.isdigit() else None
        if number is None or number not in labels:
            raise BadInput(f"{given!r} is no number from {labels[0]} to {labels[-1]}", where)
        return _band(number, labels)
    known = {label.casefold(): label for label in labels}
    if len(labels) == 2:  # right or wrong, by whatever name
        known |= dict.fromkeys(_YES, labels[0]) | dict.fromkeys(_NO, labels[1])
    if words not in known:
        raise BadInput(f"{given!r} is no label of {judge.name}: {', '.join(labels)}", where)
    return known[words]
