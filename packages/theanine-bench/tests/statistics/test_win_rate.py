"""The p-values of wins are SciPy's, and those of paired answers agree with them."""

from __future__ import annotations

from importlib import import_module
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine_bench.statistics.intervals import (
    RESAMPLES,
    binomial_p_value,
    bootstrap_interval,
    mean_interval,
    wilson_interval,
)
from theanine_bench.statistics.paired import randomization_p_value
from theanine_bench.statistics.win_rate import win_rate

counts = st.integers(0, 60)


def test_a_p_value_by_hand() -> None:
    # Eight wins of ten or more extreme, on both sides
    tail = sum(comb(10, n) for n in (8, 9, 10)) / 2**10
    assert binomial_p_value(8, 10) == pytest.approx(2 * tail)
    assert binomial_p_value(0, 0) == 1


@given(wins=counts, losses=counts)
def test_p_values_equal_scipy_and_are_symmetric(wins: int, losses: int) -> None:
    stats: Any = import_module("scipy.stats")
    p = binomial_p_value(wins, wins + losses)
    assert 0 < p <= 1
    assert p == pytest.approx(binomial_p_value(losses, wins + losses))
    if wins + losses:
        assert f"{p:.6g}" == f"{stats.binomtest(wins, wins + losses, 0.5).pvalue:.6g}"
    same = [0.0] * 5
    assert randomization_p_value([0.5] * wins + [-0.5] * losses + same) == pytest.approx(p)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=40), st.integers(0, 9))
def test_intervals_equal_scipys_percentile_bootstrap(values: list[float], seed: int) -> None:
    stats: Any = import_module("scipy.stats")
    ours = bootstrap_interval(values, seed)
    theirs = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=RESAMPLES,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


@given(successes=counts, failures=counts.map(lambda n: n + 1))
def test_wilson_intervals_equal_scipys(successes: int, failures: int) -> None:
    stats: Any = import_module("scipy.stats")
    n = successes + failures
    ours = wilson_interval(successes, n)
    theirs = stats.binomtest(successes, n).proportion_ci(method="wilson")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-6)


def test_values_declared_binary_have_wilsons_interval_and_others_never() -> None:
    assert str(mean_interval([1.0, 1.0], binary=True)) == "1.000 [0.342, 1.000]"
    assert str(mean_interval([1.0, 1.0])) == "1.000 [1.000, 1.000]"
    many = [0.0, 1.0] * 60
    assert mean_interval(many, binary=True) == wilson_interval(60, 120)
    assert mean_interval(many) == bootstrap_interval(many)
    with pytest.raises(ValueError, match="must be 0 or 1"):
        mean_interval([0.5, 1.0], binary=True)
    for binary in (False, True):
        with pytest.raises(ValueError, match="a mean over nothing"):
            mean_interval([], binary=binary)


def test_ties_are_half_a_win_and_leave_p_unchanged() -> None:
    won = win_rate(wins=14, losses=6, ties=4)
    assert won.rate.mean == pytest.approx((14 + 2) / 24)
    assert won.rate.low < won.rate.mean < won.rate.high
    assert won.p == win_rate(14, 6).p
    assert (won.wins, won.ties, won.losses, won.rate.n) == (14, 4, 6, 24)


def test_all_ties_are_a_draw_and_no_pairs_are_an_error() -> None:
    drawn = win_rate(0, 0, ties=5)
    assert (drawn.rate.mean, drawn.rate.low, drawn.rate.high, drawn.p) == (0.5, 0.5, 0.5, 1)
    with pytest.raises(ValueError, match="over nothing"):
        win_rate(0, 0)
