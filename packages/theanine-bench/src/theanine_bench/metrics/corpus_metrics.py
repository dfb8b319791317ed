"""Measures over all answers together, runs side by side: what no mean over cases is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from theanine.errors import MissingExtra
from theanine_bench.metrics.categories import by_category
from theanine_bench.metrics.neural import NEURAL
from theanine_bench.metrics.overlap import CORPUS_BLEU, CorpusBleu, SacreBleu
from theanine_bench.samples import SampleResult
from theanine_bench.statistics.intervals import (
    RESAMPLES,
    Floats,
    bootstrap_p_value,
    percentile_interval,
)
from theanine_bench.statistics.paired import PairedComparison

UNTESTED = (
    "no p-value, as it would have to be measured anew for every resample; it is of all cases of "
    "each run"
)


class FinishedRun(Protocol):
    """A compared run: its name, and the settings and summary of its folder."""

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    @property
    def summary(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusResult:
    """A measure over all answers together.

    Attributes:
        values: one a run; None where the run has none.
        against: of each later run with the first: over the common cases, by a bootstrap that draws
            the same cases of both. Empty where there is no test.
        why: why there is none.
    """

    values: Sequence[float | None]
    against: Sequence[PairedComparison] = ()
    why: str = ""

    def record(self) -> dict[str, Any]:
        """JSON-ready."""
        tested = [{"difference": asdict(one.difference), "p": one.p} for one in self.against]
        return {"values": list(self.values), "against_first": tested, "why": self.why}


def compare_corpus_metrics(
    runs: Sequence[FinishedRun], cases: Sequence[tuple[SampleResult, ...]]
) -> dict[str, CorpusResult]:
    """What all runs measure so, by name; BLEU anew over the common cases, the rest as it stands."""
    found: dict[str, CorpusResult] = {}
    asked = [{_kind(label): label for label in run.settings["metrics"]} for run in runs]
    for kind in asked[0]:
        if not all(kind in one for one in asked):
            continue
        labels = [one[kind] for one in asked]
        why = UNTESTED
        if len(set(labels)) > 1:
            named = ", ".join(f"{run.name}: {one}" for run, one in zip(runs, labels, strict=True))
            why = f"measured by different models ({named}), so not to be compared"
        if kind in CORPUS_BLEU:
            try:
                found |= _tested(CORPUS_BLEU[kind], cases)
                continue
            except MissingExtra as error:
                why = str(error)
        found |= _standing(kind, runs, labels, why)
    return found


def _kind(label: str) -> str:
    """What a measure's values begin with: its name without the model that it is of."""
    return label if label in CORPUS_BLEU else label.partition(":")[0]


def _standing(
    kind: str, runs: Sequence[FinishedRun], labels: Sequence[str], why: str
) -> dict[str, CorpusResult]:
    """The values as the runs have them."""
    kept: list[dict[str, Any]] = [run.summary["corpus"] for run in runs]
    names = dict.fromkeys(
        name
        for one in kept
        for name, value in one.items()
        if (name == kind or name.startswith(f"{kind}/")) and not isinstance(value, str)
    )
    lacking = [
        f"{run.name}: {one.get(label, 'it is not finished')}"
        for run, one, label in zip(runs, kept, labels, strict=True)
        if not any(name in one for name in names)
    ]
    if not names and kind in NEURAL:
        names = {kind: None}
    return {
        name: CorpusResult(
            values=[value if isinstance(value := one.get(name), float) else None for one in kept],
            why="; ".join(lacking) or why,
        )
        for name in names
    }


def _tested(
    measure: CorpusBleu, cases: Sequence[tuple[SampleResult, ...]]
) -> dict[str, CorpusResult]:
    """Over the cases with a reference. Raises MissingExtra."""
    compared = [items for items in cases if items[0].reference]
    if not compared:
        return {}
    name, each = measure.name, [measure.counts(items) for items in zip(*compared, strict=True)]
    first = [items[0] for items in compared]
    found = [by_category(name, first, partial(_value, measure.bleu, one)) for one in each]
    drawn = [by_category(name, first, partial(_resampled, measure.bleu, one)) for one in each]
    sizes = Counter(f"{name}/{item.category}" for item in first)
    return {
        row: CorpusResult(
            values=[one[row] for one in found],
            against=[
                _comparison(row, found, drawn, run, sizes[row] or len(first))
                for run in range(1, len(each))
            ],
        )
        for row in found[0]
    }


def _value(bleu: SacreBleu, counts: NDArray[np.int64], rows: Sequence[int]) -> float:
    return bleu.from_counts(counts[list(rows)].sum(0).tolist())


def _resampled(bleu: SacreBleu, counts: NDArray[np.int64], rows: Sequence[int]) -> Floats:
    """The value of each resample; the same cases are drawn of every run."""
    own, rng, n = counts[list(rows)], np.random.default_rng(0), len(rows)
    drawn = (np.bincount(rng.integers(0, n, n), minlength=n) @ own for _ in range(RESAMPLES))
    return np.array([bleu.from_counts(sums.tolist()) for sums in drawn], np.float64)


def _comparison(
    row: str,
    found: Sequence[dict[str, float]],
    drawn: Sequence[dict[str, Floats]],
    run: int,
    n: int,
) -> PairedComparison:
    ours, theirs = found[run][row], found[0][row]
    differences = drawn[run][row] - drawn[0][row]
    difference = percentile_interval(ours - theirs, differences, n)
    return PairedComparison(row, ours, theirs, difference, bootstrap_p_value(differences), n)
