"""Means with intervals.

The percentile bootstrap is two lines of numpy; it draws what ``scipy.stats.bootstrap`` draws for
the same seed, without importing scipy for every mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2_000
DRAWN_AT_ONCE = 1_000_000
"""Values that are drawn at once, which limits the memory that many values take."""
_Z = 1.959964
"""The 97.5 % quantile of the normal distribution."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over ``n`` items with its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def mean_interval(values: Sequence[float], *, binary: bool = False, seed: int = 0) -> Interval:
    """Return the mean with its 95 % interval. Raises ValueError if empty.

    ``binary`` declares that the values are 0 or 1 by definition, and not by chance: they have
    :func:`wilson_interval`, as the bootstrap's is too narrow for few of them. Others have
    :func:`bootstrap_interval`. Also raises ValueError for binary values that are not 0 or 1.
    """
    if not binary or not values:
        return bootstrap_interval(values, seed)
    if not set(values) <= {0.0, 1.0}:
        raise ValueError("values that are declared binary must be 0 or 1")
    return wilson_interval(round(sum(values)), len(values))


def wilson_interval(successes: int, n: int) -> Interval:
    """Return a share with its 95 % score interval (Wilson, 1927), which is never of length 0.

    Raises ValueError for ``n`` below 1.
    """
    if n < 1:
        raise ValueError("a share of nothing is no figure")
    share, z2 = successes / n, _Z**2
    center = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * sqrt(share * (1 - share) / n + z2 / (4 * n**2)) / (1 + z2 / n)
    return Interval(share, max(0.0, center - half), min(1.0, center + half), n)


def bootstrap_interval(values: Sequence[float], seed: int = 0) -> Interval:
    """Return the mean with its 95 % percentile-bootstrap interval. Raises ValueError if empty."""
    if not values:
        raise ValueError("a mean over nothing is no figure")
    array = np.asarray(values, np.float64)
    return percentile_interval(float(array.mean()), _resampled_means(array, seed), len(array))


def percentile_interval(value: float, resampled: Floats, n: int) -> Interval:
    """Return a value over ``n`` items with the middle 95 % of its resamples."""
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Interval(value, float(low), float(high), n)


def student_interval(values: Sequence[float]) -> Interval | None:
    """Return the mean with Student's 95 % interval, which is right for few values too.

    None for fewer than two values.
    """
    if len(values) < 2:
        return None
    stats: Any = import_module("scipy.stats")  # takes long to import
    array = np.asarray(values, np.float64)
    n, mean = len(array), float(array.mean())
    half = float(stats.t.ppf(0.975, n - 1)) * float(array.std(ddof=1)) / sqrt(n)
    return Interval(mean, mean - half, mean + half, n)


def binomial_p_value(wins: int, decided: int, chance: float = 0.5) -> float:
    """Return SciPy's exact two-sided p-value of ``wins`` of ``decided``; 1 if none is decided.

    ``chance`` is the share of wins under the null hypothesis. Theanine's paper takes its p-values
    from SciPy too (appendix E.1).
    """
    stats: Any = import_module("scipy.stats")  # takes long to import
    return float(stats.binomtest(wins, decided, chance).pvalue) if decided else 1.0


def _resampled_means(values: Floats, seed: int) -> Floats:
    rng, n = np.random.default_rng(seed), len(values)
    rows = max(1, DRAWN_AT_ONCE // n)
    sizes = [min(rows, RESAMPLES - done) for done in range(0, RESAMPLES, rows)]
    return np.concatenate([values[rng.integers(0, n, (size, n))].mean(1) for size in sizes])
