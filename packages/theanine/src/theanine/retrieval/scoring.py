"""Inner products, standardized scores, top-k."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]
"""``(n,)``: one score for each unit, in order of arrival."""
Positions = NDArray[np.int64]
_ONE_CORE = 250_000
"""Multiplications up to which OpenBLAS stays on one core; with more it waits for busy ones."""


def inner_products(rows: NDArray[np.float32], vector: NDArray[np.float32]) -> Scores:
    """Return the inner product of each row with a vector, independent of the other rows.

    Computed row by row on one core: a larger matrix product runs on all cores, even if it takes
    less than a millisecond, and then waits for busy ones.
    """
    return np.asarray(np.vecdot(rows, vector), np.float32)


def matrix_product(
    rows: NDArray[np.float32], columns: NDArray[np.float32], at: Positions | None = None
) -> NDArray[np.float32]:
    """Return the product of two matrices, in blocks that run on one core.

    ``at`` are the positions of the rows to multiply; None for all.
    """
    count = len(rows) if at is None else len(at)
    product = np.empty((count, columns.shape[1]), np.float32)
    step = max(1, _ONE_CORE // max(columns.size, 1))
    for start in range(0, count, step):
        block = slice(start, start + step)
        # A block that was just copied is still in the processor's cache.
        some = rows[block] if at is None else rows.take(at[block], axis=0)
        np.matmul(some, columns, out=product[block])
    return product


def standardize(scores: Scores, among: NDArray[np.bool_] | None = None) -> Scores:
    """Scale to mean 0 and standard deviation 1; all zero if the scores do not differ.

    ``among`` is the mask of the scores that mean and deviation are of; all without it.
    """
    sample = scores if among is None else scores[among]
    if not len(sample):
        return scores
    mean = np.float32(np.add.reduce(sample) / len(sample))  # half the time of sample.mean()
    centered, sample = scores - mean, sample - mean
    deviation = sqrt(float(sample @ sample) / len(sample))
    return centered / np.float32(deviation) if deviation > 1e-9 else np.zeros_like(scores)


def distinct(numbers: NDArray[np.integer], count: int) -> tuple[Positions, Positions]:
    """Return the distinct ones of some numbers below ``count``, ascending, and each one's place.

    By a table, in a tenth of the time of sorting them.
    """
    table = np.zeros(count, np.int64)
    table[numbers] = 1
    found = np.flatnonzero(table)
    table[found] = np.arange(len(found))
    return found, table[numbers]


def concatenated_ranges(starts: Positions, counts: Positions) -> Positions:
    """Return the numbers of several ranges, one range after the other."""
    offsets = np.cumsum(counts) - counts
    return np.arange(counts.sum(), dtype=np.int64) + np.repeat(starts - offsets, counts)


def top_k(scores: Scores, ids: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the positions of the ``k`` highest scores, best first; ties go to the lower id."""
    if k <= 0 or len(scores) == 0:
        return np.empty(0, np.int64)
    # All candidates tied with the k-th best take part, so that ties are broken by id alone.
    threshold = np.partition(scores, -k)[-k] if k < len(scores) else scores.min()
    candidates = np.flatnonzero(scores >= threshold)
    order = np.lexsort((ids[candidates], -scores[candidates]))
    return candidates[order[:k]]
