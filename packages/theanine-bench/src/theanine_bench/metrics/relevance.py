"""Metrics of relevance: how well a method knows that it knows nothing.

They read ``SampleResult.output`` as :mod:`theanine_bench.tasks.relevance` writes it. At a floor, a
recollection is empty if the best candidate is less relevant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from theanine.llm.chat import ScopedChat
from theanine_bench.samples import SampleResult, Score
from theanine_bench.statistics.intervals import Floats, Interval, mean_interval

OWN = "own"
"""``extra["kind"]`` of a question about the history that it is asked of, with evidence in it."""
MOST_LOST = 0.01
"""Share of a question's evidence that a floor may lose on average."""
BINS = 10
RELEVANCE = "relevance"


@dataclass(frozen=True, slots=True)
class BestRelevance:
    """The relevance, 0 to 1, of the best candidate; 0 without one."""

    name: str = RELEVANCE
    needs_judge: bool = False
    worst: Mapping[str, float] = field(default_factory=lambda: {RELEVANCE: 0.0})

    async def score(self, result: SampleResult, judge: ScopedChat | None = None) -> Score:
        """Return the score."""
        return Score(values={RELEVANCE: best_relevance(result)})


def best_relevance(result: SampleResult) -> float:
    """Return the relevance of the best candidate; 0 without one."""
    return result.output.get("best", 0.0)


def evidence_above(result: SampleResult, floor: float = 0.0) -> float:
    """Return the share of a question's evidence in the parts that are at least so relevant."""
    parts = result.output.get("parts", ())
    recalled = {turn for relevance, turns in parts if relevance >= floor for turn in turns}
    return len(recalled) / len(result.extra["gold"])


def lost_evidence(result: SampleResult, floor: float) -> float:
    """Return the share of a question's evidence that a floor loses, if it leaves nothing."""
    return evidence_above(result) if best_relevance(result) < floor else 0.0


def choose_floor(own: Sequence[SampleResult]) -> float:
    """Return the highest floor that loses at most :data:`MOST_LOST`; 0 without questions."""
    ranked = sorted(own, key=best_relevance)
    allowed = MOST_LOST * len(ranked)
    for result in ranked:  # a floor at this relevance keeps it, and loses those before it
        lost = evidence_above(result)
        if lost > allowed:
            return best_relevance(result)
        allowed -= lost
    return best_relevance(ranked[-1]) if ranked else 0.0


def held_out_floors(results: Iterable[SampleResult]) -> dict[str, float]:
    """Return a floor for each group, chosen on the own questions of all other groups.

    Empty if there is only one group with such questions.
    """
    results = list(results)
    own = [result for result in results if result.extra["kind"] == OWN]
    if len({result.group for result in own}) < 2:
        return {}
    groups = dict.fromkeys(result.group for result in results)
    return {group: choose_floor([r for r in own if r.group != group]) for group in groups}


def area_under_curve(own: Sequence[SampleResult], other: Sequence[SampleResult]) -> float:
    """Return the probability that an own question has the higher relevance; a tie counts half.

    Raises ValueError without one of the two.
    """
    if not own or not other:
        raise ValueError("an AUC needs questions of both kinds")
    ours: Floats = np.array([[best_relevance(result)] for result in own])
    theirs: Floats = np.array([best_relevance(result) for result in other])
    return float(((ours > theirs) + 0.5 * (ours == theirs)).mean())


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Parts of similar relevance.

    Attributes:
        low, high: bounds of the relevance.
        relevance: mean relevance.
        evidence: share of the parts that hold evidence.
        n: number of parts.
    """

    low: float
    high: float
    relevance: float
    evidence: float
    n: int


def reliability(results: Iterable[SampleResult]) -> list[ReliabilityBin]:
    """Return the parts recalled for questions with evidence, in bins of equal width."""
    parts = [
        (relevance, bool(turns))
        for result in results
        if result.extra["gold"]
        for relevance, turns in result.output.get("parts", ())
    ]
    if not parts:
        return []
    values: Floats = np.array(parts, np.float64)
    bins = np.minimum((values[:, 0] * BINS).astype(int), BINS - 1)
    reliability_bins: list[ReliabilityBin] = []
    for number in sorted(set(bins.tolist())):
        inside = values[bins == number]
        relevance, evidence = map(float, inside.mean(0))
        low, high = number / BINS, (number + 1) / BINS
        reliability_bins.append(ReliabilityBin(low, high, relevance, evidence, len(inside)))
    return reliability_bins


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """Return the mean distance of relevance from the share with evidence, weighted by parts.

    Raises ValueError without bins.
    """
    if not bins:
        raise ValueError("nothing was recalled, so there is no calibration error")
    total = sum(one.n for one in bins)
    return sum(one.n * abs(one.relevance - one.evidence) for one in bins) / total


@dataclass(frozen=True, slots=True)
class KnowsNothing:
    """Corpus metric: empty recollections and lost evidence at held-out floors, AUC, calibration.

    ``empty/CATEGORY`` is the share of empty recollections, ``lost/CATEGORY`` the mean share of
    evidence lost, and ``AUC/CATEGORY`` compares with the own questions of the same data set.
    """

    name: str = "floor"

    def score(self, results: Sequence[SampleResult]) -> Mapping[str, float | Interval]:
        """Return the scores; those at floors are left out if there is only one history."""
        results = [result for result in results if "kind" in result.extra]
        floors = held_out_floors(results)
        values: dict[str, float | Interval] = {}
        for category in dict.fromkeys(result.category for result in results):
            some = [result for result in results if result.category == category]
            data = some[0].extra["data"]
            own = [r for r in results if (r.extra["data"], r.extra["kind"]) == (data, OWN)]
            if own and some[0].extra["kind"] != OWN:
                values[f"floor/AUC/{category}"] = area_under_curve(own, some)
            if not floors:
                continue
            empty = [float(best_relevance(r) < floors[r.group]) for r in some]
            values[f"floor/empty/{category}"] = mean_interval(empty, binary=True)
            if all(result.extra["gold"] for result in some):
                lost = [lost_evidence(r, floors[r.group]) for r in some]
                values[f"floor/lost/{category}"] = mean_interval(lost)
        if bins := reliability(results):
            values["floor/calibration error"] = calibration_error(bins)
        return values


METRICS = {RELEVANCE: BestRelevance(), "floor": KnowsNothing()}
