"""Two runs over the same questions, compared question by question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from theanine_bench.metrics.intervals import (
    Interval,
    bootstrap_interval,
    mcnemar_p_value,
    paired_bootstrap_p_value,
)


class Measured(Protocol):
    """What has an id and measures by name."""

    @property
    def id(self) -> str: ...

    @property
    def measures(self) -> Mapping[str, float]: ...


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """A measure of two runs over the ``n`` questions that both have it of.

    Attributes:
        ours, theirs: the means.
        difference: ours less theirs, with its 95 % bootstrap interval.
        p: of a difference of 0, two-sided.
    """

    measure: str
    ours: float
    theirs: float
    difference: Interval
    p: float
    n: int


def compare_paired(ours: Iterable[Measured], theirs: Iterable[Measured]) -> list[PairedComparison]:
    """Measure by measure, over the common questions: McNemar where it is yes or no, else bootstrap.

    A measure that only one of the runs has is left out.
    """
    other = {item.id: item for item in theirs}
    pairs = [(item, other[item.id]) for item in ours if item.id in other]
    names = dict.fromkeys(
        name for one, two in pairs for name in one.measures if name in two.measures
    )
    found: list[PairedComparison] = []
    for name in names:
        both = [
            (one.measures[name], two.measures[name])
            for one, two in pairs
            if name in one.measures and name in two.measures
        ]
        found.append(_comparison(name, [a for a, _ in both], [b for _, b in both]))
    return found


def _comparison(name: str, ours: Sequence[float], theirs: Sequence[float]) -> PairedComparison:
    if {*ours, *theirs} <= {0.0, 1.0}:
        p = mcnemar_p_value([one == 1 for one in ours], [one == 1 for one in theirs])
    else:
        p = paired_bootstrap_p_value(ours, theirs)
    n = len(ours)
    difference = bootstrap_interval([one - two for one, two in zip(ours, theirs, strict=True)])
    return PairedComparison(name, sum(ours) / n, sum(theirs) / n, difference, p, n)
