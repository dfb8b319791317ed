"""Two runs compared sample by sample.

The test is Fisher's randomization test: if the runs don't differ, either could have made either
result of a sample, so that each difference could as well have had the other sign. It assumes
nothing about the scores and is exact for few samples, where a bootstrap rejects too often.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Protocol

import numpy as np

from theanine_bench.statistics.intervals import (
    DRAWN_AT_ONCE,
    Floats,
    Interval,
    binomial_p_value,
    student_interval,
)

MIN_PAIRS = 5
"""Fewer common samples have no p-value: whatever they show, it could be chance."""
ENUMERATED = 13
"""Up to so many differences all signs are tried; of more, some are drawn."""
DRAWS = 10_000
"""Signs that are drawn for more differences."""
_SLACK = 1e-9
"""Sums that differ by less than this share are equal but for rounding."""


class Measured(Protocol):
    """Anything with an id and scores by metric."""

    @property
    def id(self) -> str: ...

    @property
    def scores(self) -> Mapping[str, float]: ...


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """A metric of two runs over the ``n`` samples that both have a score for.

    Attributes:
        ours, theirs: the means.
        difference: ours minus theirs.
        interval: of the difference, 95 %; None for a single sample.
        p: two-sided p-value of no difference; None for fewer than :data:`MIN_PAIRS` samples.
    """

    measure: str
    ours: float
    theirs: float
    interval: Interval | None
    p: float | None
    n: int

    @property
    def difference(self) -> float:
        return self.ours - self.theirs

    def record(self) -> dict[str, Any]:
        """JSON-ready."""
        low, high = (self.interval.low, self.interval.high) if self.interval else (None, None)
        difference = {"mean": self.difference, "low": low, "high": high, "n": self.n}
        values = asdict(self)
        del values["interval"]
        return {**values, "difference": difference}


def compare_paired(ours: Iterable[Measured], theirs: Iterable[Measured]) -> list[PairedComparison]:
    """Compare two runs metric by metric over their common samples.

    Metrics that only one of the runs has are left out.
    """
    other = {item.id: item.scores for item in theirs}
    pairs = [(item.scores, other[item.id]) for item in ours if item.id in other]
    names = dict.fromkeys(name for our, their in pairs for name in our if name in their)
    return [
        _compare(name, [(a[name], b[name]) for a, b in pairs if name in a and name in b])
        for name in names
    ]


def _compare(name: str, pairs: Sequence[tuple[float, float]]) -> PairedComparison:
    n = len(pairs)
    ours, theirs = (sum(values) / n for values in zip(*pairs, strict=True))
    differences = [a - b for a, b in pairs]
    interval, p = student_interval(differences), randomization_p_value(differences)
    return PairedComparison(name, ours, theirs, interval, p, n)


def randomization_p_value(differences: Sequence[float], seed: int = 0) -> float | None:
    """Return the two-sided p-value of paired differences whose mean is 0.

    It is exact for differences of one size, where it is McNemar's test, and for up to
    :data:`ENUMERATED` of other sizes. None for fewer than :data:`MIN_PAIRS` pairs.
    """
    if len(differences) < MIN_PAIRS:
        return None
    array = np.asarray(differences, np.float64)
    array = array[array != 0]  # its sign changes nothing
    sizes = np.abs(array)
    if not len(array) or sizes.max() - sizes.min() <= _SLACK * sizes.max():
        return binomial_p_value(int((array > 0).sum()), len(array))
    n, least = len(array), abs(array.sum()) * (1 - _SLACK)
    if n <= ENUMERATED:
        signs = np.array(list(product((1, -1), repeat=n)))
        return float((np.abs(signs @ array) >= least).mean())
    rng, rows = np.random.default_rng(seed), max(1, DRAWN_AT_ONCE // n)
    counts = [min(rows, DRAWS - done) for done in range(0, DRAWS, rows)]
    drawn = [(2 * rng.integers(0, 2, (size, n), np.int8) - 1) @ array for size in counts]
    return drawn_p_value(float(array.sum()), np.concatenate(drawn))


def drawn_p_value(observed: float, drawn: Floats) -> float:
    """Return the two-sided p-value of a difference, given those with samples swapped at random.

    The runs as they are count as one of the draws, so that it is never 0.
    """
    reached = int((np.abs(drawn) >= abs(observed) * (1 - _SLACK)).sum())
    return (reached + 1) / (len(drawn) + 1)


def show_p_value(p: float | None, digits: int = 4) -> str:
    """Return a p-value as it is printed; a dash where there is none."""
    return "–" if p is None else f"{p:.{digits}f}"
