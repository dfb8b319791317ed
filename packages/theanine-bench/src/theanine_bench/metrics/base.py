"""Ports: a metric scores one result, a corpus metric all results of a run together."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from theanine.errors import METRIC_NOTE, TheanineError
from theanine.llm.chat import ScopedChat
from theanine_bench.samples import SampleResult, Score
from theanine_bench.statistics.intervals import Interval


class Metric(Protocol):
    """Scores one result. A judge is a metric that asks a model.

    Attributes:
        name: the name of its score, or the prefix ``NAME/`` of several.
        needs_judge: whether it asks the judging model.
        worst: the lowest score by name; what a judge gives a sample without an answer.
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
