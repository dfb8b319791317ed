"""Scores by vectors, on one scale, and the best of them: exact, whatever else is there."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from theanine.retrieval.scoring import inner_products, standardize, top_k

_NUMBER = st.integers(-800, 800).map(lambda eighths: eighths / 8)
"""Numbers that are either the same or far apart for float32."""


def _rows(seed: int, n: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((n, 256)).astype(np.float32)


@given(st.integers(0, 2**32 - 1), st.integers(1, 200), st.integers(0, 200))
def test_a_rows_inner_product_does_not_depend_on_the_other_rows(
    seed: int, n: int, cut: int
) -> None:
    rows, vector = _rows(seed, n), _rows(seed + 1, 1)[0]
    together = inner_products(rows, vector)
    apart = np.concatenate([inner_products(rows[:cut], vector), inner_products(rows[cut:], vector)])
    assert together.dtype == np.float32
    assert together.tolist() == apart.tolist()
    assert np.allclose(together, (rows.astype(float) * vector).sum(axis=1), atol=1e-3)


@given(st.lists(_NUMBER, min_size=1, max_size=60))
def test_on_one_scale_the_mean_is_0_and_the_deviation_1_or_nothing_differs(
    scores: list[float],
) -> None:
    out = standardize(np.array(scores, np.float32))
    assert abs(float(out.mean(dtype=float))) < 1e-2
    spread = float(out.std(dtype=float))
    assert spread == 0 or abs(spread - 1) < 1e-2


@given(st.lists(st.integers(-3, 3), max_size=40), st.integers(0, 45))
def test_the_best_are_those_of_a_full_sort_with_ties_to_the_lower_id(
    scores: list[int], k: int
) -> None:
    ids = np.random.default_rng(len(scores)).permutation(len(scores)).astype(np.int64)
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], ids[i]))
    assert top_k(np.array(scores, np.float32), ids, k).tolist() == order[:k]
