"""Two runs over the same questions, compared question by question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from theanine_bench.metrics.intervals import Interval, interval, mcnemar, paired_bootstrap


class Measured(Protocol):
    """What has an id and measures by name."""

    @property
    def id(self) -> str: ...

    @property
    def measures(self) -> Mapping[str, float]: ...


@dataclass(frozen=True, slots=True)
class Comparison:
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


def compare(ours: Iterable[Measured], theirs: Iterable[Measured]) -> list[Comparison]:
    """Measure by measure, over the common questions: McNemar where it is yes or no, else bootstrap.

    A measure that only one of the runs has is left out.
    """
    other = {item.id: item for item in theirs}
    pairs = [(item, other[item.id]) for item in ours if item.id in other]
    names = dict.fromkeys(
        name for one, two in pairs for name in one.measures if name in two.measures
    )
    found: list[Comparison] = []
    for name in names:
        both = [
            (one.measures[name], two.measures[name])
            for one, two in pairs
            if name in one.measures and name in two.measures
        ]
        found.append(_comparison(name, [a for a, _ in both], [b for _, b in both]))
    return found


def _comparison(name: str, ours: Sequence[float], theirs: Sequence[float]) -> Comparison:
    if {*ours, *theirs} <= {0.0, 1.0}:
        p = mcnemar([one == 1 for one in ours], [one == 1 for one in theirs])
    else:
        p = paired_bootstrap(ours, theirs)
    n = len(ours)
    difference = interval([one - two for one, two in zip(ours, theirs, strict=True)])
    return Comparison(name, sum(ours) / n, sum(theirs) / n, difference, p, n)
