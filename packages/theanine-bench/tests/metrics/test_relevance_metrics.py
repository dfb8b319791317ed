"""Floors of relevance, AUC and calibration, against values worked out by hand."""

from __future__ import annotations

import pytest

from theanine_bench.metrics.relevance import (
    BINS,
    OWN,
    KnowsNothing,
    area_under_curve,
    best_relevance,
    calibration_error,
    choose_floor,
    evidence_above,
    held_out_floors,
    lost_evidence,
    reliability,
)
from theanine_bench.samples import SampleResult
from theanine_bench.statistics.intervals import Interval


def result(
    *parts: tuple[float, list[int]], gold: int = 1, kind: str = OWN, group: str = "a"
) -> SampleResult:
    """A question with ``gold`` evidence turns, 1 and on, whose parts have relevance and turns."""
    return SampleResult(
        id=f"{group}/{kind}/{parts}",
        group=group,
        category=f"set, {kind}",
        question="?",
        extra={"data": "set", "kind": kind, "gold": [["", str(n)] for n in range(gold)]},
        output={"parts": parts, "best": max((relevance for relevance, _ in parts), default=0.0)},
    )


def test_a_floor_cuts_parts_or_the_whole() -> None:
    one = result((0.9, [1]), (0.4, [2]), (0.1, []), gold=4)
    assert best_relevance(one) == 0.9
    assert [evidence_above(one, floor) for floor in (0, 0.4, 0.5, 0.95)] == [0.5, 0.5, 0.25, 0]
    assert [lost_evidence(one, floor) for floor in (0, 0.5, 0.9, 0.95)] == [0, 0, 0, 0.5]
    assert (best_relevance(result()), lost_evidence(result(), 0.5)) == (0, 0)


def test_the_floor_is_the_highest_that_loses_at_most_a_hundredth() -> None:
    useless = [result((0.1, [])), result((0.2, []))]
    useful = [result((0.3 + n / 1000, [1])) for n in range(198)]
    assert choose_floor([*useful, *useless]) == 0.302  # 2 of 200 lose all: 0.3 and 0.301
    assert choose_floor(useless) == 0.2
    assert choose_floor([]) == 0


def test_a_group_has_no_part_in_its_own_floor() -> None:
    results = [
        result((0.3, [1])),
        result((0.6, [1]), group="b"),
        result((0.9, []), kind="never mentioned", gold=0, group="b"),
    ]
    assert held_out_floors(results) == {"a": 0.6, "b": 0.3}
    assert held_out_floors(results[:1]) == {}


def test_auc_counts_ties_as_half() -> None:
    own = [result((0.5, [])), result((0.9, []))]
    assert area_under_curve(own, [result((0.5, []))]) == 0.75
    assert area_under_curve(own, [result()]) == 1
    with pytest.raises(ValueError, match="both kinds"):
        area_under_curve(own, [])


def test_calibration_is_weighted_by_parts_of_questions_with_evidence() -> None:
    nothing = result((0.95, []), kind="never mentioned", gold=0)
    one = result((0.1, [1]), (0.12, []), (0.14, []), (1.0, [1]))
    low, high = reliability([one, nothing])
    assert (low.low, low.high, low.n) == (1 / BINS, 2 / BINS, 3)
    assert low.relevance == pytest.approx(0.12)
    assert low.evidence == pytest.approx(1 / 3)
    assert (high.low, high.relevance, high.evidence, high.n) == (0.9, 1, 1, 1)
    assert calibration_error([low, high]) == pytest.approx(3 / 4 * (1 / 3 - 0.12))
    with pytest.raises(ValueError, match="nothing was recalled"):
        calibration_error(reliability([nothing]))


def test_the_corpus_metric_reports_held_out_floors() -> None:
    results = [
        result((0.3, [1])),
        result((0.6, [1]), group="b"),
        result((0.5, []), kind="never mentioned", gold=0, group="a"),
        result((0.5, []), kind="never mentioned", gold=0, group="b"),
    ]
    values = KnowsNothing().score(results)
    assert values["floor/AUC/set, never mentioned"] == 0.5
    means = {name: one.mean for name, one in values.items() if isinstance(one, Interval)}
    assert means == {
        "floor/empty/set, own": 0.5,
        "floor/lost/set, own": 0.5,
        "floor/empty/set, never mentioned": 0.5,
    }
    assert values["floor/calibration error"] == pytest.approx((0.7 + 0.4) / 2)
