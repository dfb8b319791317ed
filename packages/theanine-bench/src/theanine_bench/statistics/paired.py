"""Two runs compared sample by sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from theanine_bench.statistics.intervals import (
    Interval,
    bootstrap_interval,
    mcnemar_p_value,
    paired_bootstrap_p_value,
)


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
        p: two-sided p-value of no difference.
    """

    measure: str
    ours: float
    theirs: float
    difference: Interval
    p: float
    n: int


def compare_paired(ours: Iterable[Measured], theirs: Iterable[Measured]) -> list[PairedComparison]:
    """Compare two runs metric by metric over their common samples.

    The p-value is McNemar's for scores of 0 and 1, else the paired bootstrap's. Metrics that only
    one of the runs has are left out.
    """
    other = {item.id: item.scores for item in theirs}
    pairs = [(item.scores, other[item.id]) for item in ours if item.id in other]
    names = dict.fromkeys(name for our, their in pairs for name in our if name in their)
    return [
        _compare(name, [(a[name], b[name]) for a, b in pairs if name in a and name in b])
        for name in names
    ]


def _compare(name: str, pairs: Sequence[tuple[float, float]]) -> PairedComparison:
    ours, theirs = [a for a, _ in pairs], [b for _, b in pairs]
    if {*ours, *theirs} <= {0.0, 1.0}:
        p = mcnemar_p_value([a == 1 for a in ours], [b == 1 for b in theirs])
    else:
        p = paired_bootstrap_p_value(ours, theirs)
    n = len(pairs)
    difference = bootstrap_interval([a - b for a, b in pairs])
    return PairedComparison(name, sum(ours) / n, sum(theirs) / n, difference, p, n)
