"""The measures of a ranking, by hand and by their bounds."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine_bench.metrics.ranking import dcg, hit_at, ndcg_at, recall_at, reciprocal_rank
from theanine_bench.statistics.intervals import (
    bootstrap_interval,
)

RANKED = [[4], [1], [7], [2]]


def test_by_hand() -> None:
    gold = {1, 2, 9}
    assert recall_at(RANKED, gold, 2) == pytest.approx(1 / 3)
    assert recall_at(RANKED, gold, 4) == pytest.approx(2 / 3)
    assert reciprocal_rank(RANKED, gold) == 1 / 2
    assert dcg(RANKED, gold) == pytest.approx((1 / log2(3) + 1 / log2(5)) / 3)
    assert hit_at([3, 3, 5, 6], {6}, 2) == 0
    assert hit_at([3, 3, 5, 6], {6}, 3) == 1


def test_a_unit_of_several_turns_counts_each_gold_turn_once() -> None:
    assert recall_at([[1, 2], [2, 3]], {1, 2, 3}, 1) == pytest.approx(2 / 3)
    assert dcg([[1, 2], [2, 3]], {1, 2, 3}) == pytest.approx(2 / 3 + 1 / 3 / log2(3))


def test_without_evidence_there_is_no_figure() -> None:
    for measure in (recall_at, hit_at):
        with pytest.raises(ValueError, match="without evidence"):
            measure([], [], 5)
    with pytest.raises(ValueError, match="nothing"):
        bootstrap_interval([])


@given(st.permutations(list(range(8))), st.sets(st.integers(0, 7), min_size=1), st.integers(1, 8))
def test_bounds(order: list[int], gold: set[int], k: int) -> None:
    ranked = [[turn] for turn in order]
    assert 0 <= recall_at(ranked, gold, k) <= recall_at(ranked, gold, k + 1) <= 1
    assert recall_at(ranked, gold, 8) == 1
    assert 0 <= ndcg_at(ranked, gold, k, ranked) <= 1 + 1e-9
    best = sorted(ranked, key=lambda unit: unit[0] not in gold)
    assert ndcg_at(best, gold, k, ranked) == pytest.approx(1)


def test_intervals_hold_the_mean() -> None:
    values = [0.0, 1.0] * 100
    found = bootstrap_interval(values)
    assert found.low < found.mean == 0.5 < found.high
    assert found.n == 200
    assert bootstrap_interval(values) == found
