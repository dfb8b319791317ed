"""Comparison of corpus metrics between runs; a p-value for those that can be resampled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from theanine.errors import MissingExtra
from theanine_bench.metrics.categories import by_category
from theanine_bench.metrics.neural import NEURAL
from theanine_bench.metrics.overlap import CORPUS_BLEU, CorpusBleu, SacreBleu
from theanine_bench.samples import SampleResult, is_score_of
from theanine_bench.statistics.intervals import (
    RESAMPLES,
    Floats,
    percentile_interval,
)
from theanine_bench.statistics.paired import MIN_PAIRS, PairedComparison, drawn_p_value

UNTESTED = (
    "no p-value, as it would have to be measured anew for every resample; it is of all samples of "
    "each run"
)


class FinishedRun(Protocol):
    """A compared run: its name, and its folder's settings and summary."""

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    @property
    def summary(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusResult:
    """A corpus metric's score in each run.

    Attributes:
        values: one per run; None for a run without it.
        against: each later run compared with the first over the common samples, by swapping the
            answers of random ones. Empty if there is no test.
        why: why there is no test.
    """

    values: Sequence[float | None]
    against: Sequence[PairedComparison] = ()
    why: str = ""

    def record(self) -> dict[str, Any]:
        """JSON-ready."""
        tested = [one.record() for one in self.against]
        return {"values": list(self.values), "against_first": tested, "why": self.why}


def compare_corpus_metrics(
    runs: Sequence[FinishedRun], samples: Sequence[tuple[SampleResult, ...]]
) -> dict[str, CorpusResult]:
    """Return the corpus scores that all runs have, by name.

    BLEU is computed over the common samples and tested; other scores are those of the summaries.
    """
    compared: dict[str, CorpusResult] = {}
    metrics = [{_kind(name): name for name in run.settings["metrics"]} for run in runs]
    for kind in metrics[0]:
        if not all(kind in names for names in metrics):
            continue
        names, why = [names[kind] for names in metrics], UNTESTED
        if len(set(names)) > 1:
            by_run = ", ".join(f"{run.name}: {name}" for run, name in zip(runs, names, strict=True))
            why = f"measured by different models ({by_run}), so not to be compared"
        if kind in CORPUS_BLEU:
            try:
                compared |= _test(CORPUS_BLEU[kind], samples)
                continue
            except MissingExtra as error:
                why = str(error)
        compared |= _read_scores(kind, runs, names, why)
    return compared


def _kind(metric: str) -> str:
    """Return the name of a metric's scores: its own without the model's."""
    kind = metric.partition(":")[0]
    return kind if kind in NEURAL else metric


def _read_scores(
    kind: str, runs: Sequence[FinishedRun], metrics: Sequence[str], why: str
) -> dict[str, CorpusResult]:
    """Return the scores of the runs' summaries."""
    scores: list[dict[str, Any]] = [run.summary["corpus"] for run in runs]
    names = dict.fromkeys(
        name
        for own in scores
        for name, value in own.items()
        if is_score_of(name, kind) and not isinstance(value, str)
    )
    missing = [
        f"{run.name}: {own.get(metric, 'it is not finished')}"
        for run, own, metric in zip(runs, scores, metrics, strict=True)
        if not any(name in own for name in names)
    ]
    if not names and kind in NEURAL:
        names = {kind: None}
    return {
        name: CorpusResult(
            values=[value if isinstance(value := own.get(name), float) else None for own in scores],
            why="; ".join(missing) or why,
        )
        for name in names
    }


def _test(
    metric: CorpusBleu, samples: Sequence[tuple[SampleResult, ...]]
) -> dict[str, CorpusResult]:
    """Compute and compare BLEU over the samples with a reference. Raises MissingExtra."""
    compared = [results for results in samples if results[0].reference]
    if not compared:
        return {}
    name, bleu, first = metric.name, metric.bleu, [results[0] for results in compared]
    counts = [metric.counts(results) for results in zip(*compared, strict=True)]
    values = [by_category(name, first, partial(_value, bleu, own)) for own in counts]
    resampled = [by_category(name, first, partial(_resample, bleu, own)) for own in counts]
    swapped = [by_category(name, first, partial(_swap, bleu, own, counts[0])) for own in counts[1:]]
    sizes = Counter(f"{name}/{result.category}" for result in first)

    def compare(row: str, run: int) -> PairedComparison:
        ours, theirs, n = values[run][row], values[0][row], sizes[row] or len(first)
        differences = resampled[run][row] - resampled[0][row]
        interval = percentile_interval(ours - theirs, differences, n) if n > 1 else None
        p = drawn_p_value(ours - theirs, swapped[run - 1][row]) if n >= MIN_PAIRS else None
        return PairedComparison(row, ours, theirs, interval, p, n)

    return {
        row: CorpusResult(
            values=[own[row] for own in values],
            against=[compare(row, run) for run in range(1, len(counts))],
        )
        for row in values[0]
    }


def _value(bleu: SacreBleu, counts: NDArray[np.int64], rows: Sequence[int]) -> float:
    return bleu.from_counts(counts[list(rows)].sum(0).tolist())


def _resample(bleu: SacreBleu, counts: NDArray[np.int64], rows: Sequence[int]) -> Floats:
    """Return BLEU of each resample; the same samples are drawn of every run."""
    own, rng, n = counts[list(rows)], np.random.default_rng(0), len(rows)
    drawn = (np.bincount(rng.integers(0, n, n), minlength=n) @ own for _ in range(RESAMPLES))
    return np.array([bleu.from_counts(sums.tolist()) for sums in drawn], np.float64)


def _swap(
    bleu: SacreBleu, ours: NDArray[np.int64], theirs: NDArray[np.int64], rows: Sequence[int]
) -> Floats:
    """Return differences in BLEU with the answers of random samples swapped between two runs."""
    differences, rng = (ours - theirs)[list(rows)], np.random.default_rng(0)
    own, other = ours[list(rows)].sum(0), theirs[list(rows)].sum(0)
    moved = (rng.integers(0, 2, len(rows)) @ differences for _ in range(RESAMPLES))
    return np.array(
        [
            bleu.from_counts((own - some).tolist()) - bleu.from_counts((other + some).tolist())
            for some in moved
        ],
        np.float64,
    )
