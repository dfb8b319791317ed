"""How sure a mean is, and whether two runs differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % bootstrap interval over ``n`` items."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def interval(values: Sequence[float], seed: int = 0) -> Interval:
    """The mean of the values; the interval is of the percentile bootstrap. Raises on no values."""
    if not values:
        raise ValueError("a mean over nothing is no figure")
    array = np.asarray(values, np.float64)
    rng = np.random.default_rng(seed)
    means = array[rng.integers(0, len(array), (RESAMPLES, len(array)))].mean(1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(array.mean()), float(low), float(high), len(array))


def paired_bootstrap(ours: Sequence[float], theirs: Sequence[float], seed: int = 0) -> float:
    """Two-sided p-value of the mean difference, question by question."""
    difference = np.asarray(ours, np.float64) - np.asarray(theirs, np.float64)
    if not len(difference):
        raise ValueError("two runs without a common question can't be compared")
    rng = np.random.default_rng(seed)
    means = difference[rng.integers(0, len(difference), (RESAMPLES, len(difference)))].mean(1)
    tail = min(float((means <= 0).mean()), float((means >= 0).mean()))
    return min(1.0, 2 * max(tail, 1 / RESAMPLES))


def mcnemar(ours: Sequence[bool], theirs: Sequence[bool]) -> float:
    """Exact two-sided p-value that two runs get the same questions right."""
    pairs = list(zip(ours, theirs, strict=True))
    better, worse = pairs.count((True, False)), pairs.count((False, True))
    n, fewer = better + worse, min(better, worse)
    return min(1.0, 2 * sum(comb(n, i) for i in range(fewer + 1)) / 2**n)
