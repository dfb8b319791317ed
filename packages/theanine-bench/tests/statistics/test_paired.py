"""Two runs that don't differ are told apart as seldom as the p-value says, and no sooner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theanine_bench.statistics.intervals import Floats, student_interval
from theanine_bench.statistics.paired import (
    ENUMERATED,
    MIN_PAIRS,
    compare_paired,
    randomization_p_value,
    show_p_value,
)


@dataclass(frozen=True)
class Result:
    id: str
    scores: Mapping[str, float]


RUNS = 300
KINDS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, n: rng.normal(0.5, 0.2, n),
    "skewed": lambda rng, n: rng.lognormal(0, 1.5, n),
    "right or wrong": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "mostly equal": lambda rng, n: rng.choice([0.0, 0.0, 0.0, 0.4, 1.0], n),
}
differences = st.lists(st.floats(-1, 1, width=16), min_size=MIN_PAIRS, max_size=9)


@pytest.mark.parametrize("n", [5, 10, 20, 50])
def test_runs_that_do_not_differ_are_seldom_told_apart(n: int) -> None:
    rng = np.random.default_rng(n)
    p = [
        randomization_p_value((draw(rng, n) - draw(rng, n)).tolist())
        for draw in KINDS.values()
        for _ in range(RUNS)
    ]
    assert np.mean([each is not None and each < 0.05 for each in p]) <= 0.06


def test_runs_that_differ_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    for n in (10, 20, 200):
        p = randomization_p_value((0.5 + rng.normal(0, 0.2, n)).tolist())
        assert p is not None
        assert p < 0.01


@given(differences)
def test_few_differences_are_tested_exactly(values: list[float]) -> None:
    signs = np.array(list(product((1, -1), repeat=len(values))))
    sums = np.abs(signs @ np.array(values))
    expected = float((sums >= abs(sum(values)) - 1e-9).mean())
    assert randomization_p_value(values) == pytest.approx(expected)
    assert randomization_p_value([-value for value in values]) == pytest.approx(expected)


def test_drawn_signs_agree_with_all_signs() -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        values = rng.normal(0.3, 1, ENUMERATED).tolist()
        exact = randomization_p_value(values)
        drawn = randomization_p_value([*values, 1e-12])  # one more, which changes nothing
        assert drawn == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("n", range(1, MIN_PAIRS))
def test_too_few_samples_have_no_p_value(n: int) -> None:
    def results(score: float) -> list[Result]:
        return [Result(str(i), {"f1": score + i / 100}) for i in range(n)]

    [row] = compare_paired(results(0.9), results(0.1))
    assert row.p is None
    assert show_p_value(row.p) == "–"
    assert (row.interval is None) == (n == 1)
    assert row.record()["difference"]["mean"] == pytest.approx(0.8)


@pytest.mark.parametrize("n", [3, 5, 10, 30])
def test_intervals_of_few_differences_hold_the_mean(n: int) -> None:
    rng = np.random.default_rng(n)
    found = [student_interval(rng.normal(0.1, 1, n).tolist()) for _ in range(1000)]
    assert np.mean([each is not None and each.low <= 0.1 <= each.high for each in found]) > 0.93
