"""How sure a mean is, and whether two runs differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2_000
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % bootstrap interval over ``n`` items."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def bootstrap_interval(values: Sequence[float], seed: int = 0) -> Interval:
    """The mean of the values; the interval is of the percentile bootstrap. Raises on no values."""
    if not values:
        raise ValueError("a mean over nothing is no figure")
    array = np.asarray(values, np.float64)
    return percentile_interval(float(array.mean()), _means(array, seed), len(array))


def percentile_interval(found: float, resampled: Floats, n: int) -> Interval:
    """What was found over ``n`` items, with the middle 95 % of what resamples of them give."""
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Interval(found, float(low), float(high), n)


def paired_bootstrap_p_value(
    ours: Sequence[float], theirs: Sequence[float], seed: int = 0
) -> float:
    """Two-sided p-value of the mean difference, question by question."""
    difference = np.asarray(ours, np.float64) - np.asarray(theirs, np.float64)
    if not len(difference):
        raise ValueError("two runs without a common question can't be compared")
    return bootstrap_p_value(_means(difference, seed))


def bootstrap_p_value(differences: Floats) -> float:
    """Two-sided p-value of a difference of 0, of the differences that resamples give."""
    tail = min(float((differences <= 0).mean()), float((differences >= 0).mean()))
    return min(1.0, 2 * max(tail, 1 / len(differences)))


def _means(values: Floats, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    return values[rng.integers(0, len(values), (RESAMPLES, len(values)))].mean(1)


def mcnemar_p_value(ours: Sequence[bool], theirs: Sequence[bool]) -> float:
    """Exact two-sided p-value that two runs get the same questions right."""
    pairs = list(zip(ours, theirs, strict=True))
    better, worse = pairs.count((True, False)), pairs.count((False, True))
    n, fewer = better + worse, min(better, worse)
    return min(1.0, 2 * sum(comb(n, i) for i in range(fewer + 1)) / 2**n)
