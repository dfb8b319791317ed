"""Ports: a metric scores one result, a corpus metric all results of a run together."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from theanine.errors import METRIC_NOTE, TheanineError
from theanine.llm.chat import ScopedChat
from theanine_bench.samples import SampleResult, Score, is_score_of
from theanine_bench.statistics.intervals import Interval, mean_interval


class Metric(Protocol):
    """Scores one result. A judge is a metric that asks a model.

    Attributes:
        name: the name of its score, or the prefix ``NAME/`` of several.
        needs_judge: whether it asks the judging model.
        worst: the lowest score by name; what a judge gives a sample without an answer.

    A metric whose scores are all 0 or 1 by definition declares it by an attribute ``binary``, which
    is True, or a function of a sample (or its result) where only some of its scores are. Its means
    have Wilson's intervals, those of other metrics are bootstrapped.
    """

    @property
    def name(self) -> str: ...

    @property
    def needs_judge(self) -> bool: ...

    @property
    def worst(self) -> Mapping[str, float]: ...

    async def score(self, result: SampleResult, judge: ScopedChat | None) -> Score:
        """Return the scores of a result; none where it has nothing to be compared with.

        Judges are only asked about results with an answer; other metrics treat a missing answer
        as an empty one. Raises ModelError if the judge fails, which the run records as a failure
        and not as a score.
        """
        ...


class CorpusMetric(Protocol):
    """Scores all results of a run together, answered or not.

    Attributes:
        name: the name of its score, or the prefix ``NAME/`` of several.
    """

    @property
    def name(self) -> str: ...

    def score(self, results: Sequence[SampleResult]) -> Mapping[str, float | Interval]:
        """Return scores by name. Raises MissingExtra or SettingsError where a part is missing."""
        ...


class Labeled(Protocol):
    """A sample, or its result."""

    @property
    def extra(self) -> Mapping[str, Any]: ...


def binary_metrics(metrics: Iterable[Metric], samples: Sequence[Labeled]) -> list[str]:
    """Return the names of the metrics that declare their scores of all samples to be 0 or 1."""
    return [
        metric.name
        for metric in metrics
        if samples and all(_is_binary(metric, sample) for sample in samples)
    ]


def score_interval(name: str, values: Sequence[float], binary: Iterable[str]) -> Interval:
    """Return the mean of a score with its interval; ``binary`` are the metrics declared so.

    Raises ValueError if empty.
    """
    is_binary = any(is_score_of(name, metric) for metric in binary)
    return mean_interval(values, binary=is_binary)


def check_binary(metric: Metric, result: SampleResult, score: Score) -> None:
    """Raise ValueError where scores aren't 0 or 1 that their metric declares to be."""
    if _is_binary(metric, result) and not set(score.values.values()) <= {0.0, 1.0}:
        raise ValueError(f"{metric.name} is declared binary, and gave {dict(score.values)}")


def _is_binary(metric: Metric, sample: Labeled) -> bool:
    declared: bool | Callable[[Labeled], bool] = getattr(metric, "binary", False)
    return declared(sample) if callable(declared) else declared


@contextmanager
def naming_metric(name: str) -> Generator[None]:
    """Name the metric on an exception of its code, for the command line's message."""
    try:
        yield
    except TheanineError:
        raise
    except Exception as error:
        error.add_note(f"{METRIC_NOTE}{name}")
        raise
