"""Score by vectors, bring scores of different retrievers to one scale, and pick the best."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]


def inner_products(rows: NDArray[np.float32], vector: NDArray[np.float32]) -> Scores:
    """The inner product of each row with a vector; a row's does not depend on the other rows.

    One row after another on one core: a product with a matrix is spread over all cores even where
    it takes less than a millisecond, and then waits for them when they are busy.
    """
    return np.asarray(np.vecdot(rows, vector), np.float32)


def standardize(scores: Scores) -> Scores:
    """Mean 0 and deviation 1 over all candidates; all zero where the scores do not differ."""
    if not len(scores):
        return scores
    apart = scores - scores.mean()
    spread = sqrt(float(apart @ apart) / len(apart))
    return apart / np.float32(spread) if spread > 1e-9 else np.zeros_like(scores)


def top_k(scores: Scores, ids: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Positions of the ``k`` highest scores, best first; ties go to the lower id."""
    if k <= 0 or len(scores) == 0:
        return np.empty(0, np.int64)
    # Candidates tied with the k-th best all take part, so that ties break by id alone.
    floor = np.partition(scores, -k)[-k] if k < len(scores) else scores.min()
    candidates = np.flatnonzero(scores >= floor)
    order = np.lexsort((ids[candidates], -scores[candidates]))
    return candidates[order[:k]]
