"""Cosine after what all units have in common is taken out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theanine.retrieval.rows import GrowingArray
from theanine.retrieval.scoring import Scores, inner_products

PRIOR_ROWS = 10
"""Units from which a mean begins to say something; with fewer, less of it is taken out."""


class DenseScorer:
    """Vectors that keep arriving, and their mean.

    Texts of one relationship share most of a direction; without it, cosines tell them apart better
    (Mu and Viswanath, "All-but-the-Top", 2018: the mean; more components did not help here).
    """

    def __init__(self) -> None:
        self.vectors: GrowingArray[np.float32] = GrowingArray(np.float32)
        self._sum: NDArray[np.float64] | None = None
        self._centre: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None

    def extend(self, vectors: NDArray[np.float32]) -> None:
        """Add rows of unit norm, ``(n, d)``."""
        if not len(vectors):
            return
        self.vectors.extend(vectors)
        total = np.zeros(vectors.shape[1]) if self._sum is None else self._sum
        for row in vectors:  # one by one, so that the sum is the same however they were batched
            total = total + row
        self._sum = total
        self._centre = None

    def scores(self, query: NDArray[np.float32]) -> Scores:
        """The centred cosine of every row to the query, -1 to 1."""
        if self._sum is None:
            return np.zeros(0, np.float32)
        rows = self.vectors.values
        if self._centre is None:
            mean = self.mean
            self._centre = mean, _lengths(rows, mean)
        mean, lengths = self._centre
        sought = _apart(query, mean)
        return np.asarray(
            (inner_products(rows, sought) - np.vecdot(mean, sought)) / lengths, np.float32
        )

    def score_rows(
        self,
        query: NDArray[np.float32],
        rows: NDArray[np.float32],
        lengths: NDArray[np.float32] | None = None,
    ) -> Scores:
        """The same for some of the rows alone, ``(m, d)``; with their lengths, if known."""
        mean = self.mean
        sought = _apart(query, mean)
        lengths = self.norms(rows) if lengths is None else lengths
        return np.asarray(
            (inner_products(rows, sought) - np.vecdot(mean, sought)) / lengths, np.float32
        )

    def norms(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """How far some of the rows are from the mean, as of now."""
        return _lengths(rows, self.mean)

    def center(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """What the rows' inner products are taken with, unit norm: the query beside the mean."""
        return _apart(query, self.mean)

    @property
    def mean(self) -> NDArray[np.float32]:
        """What all rows have in common, as of now, ``(d,)``."""
        total = np.zeros(1) if self._sum is None else self._sum
        return (total / (len(self.vectors) + PRIOR_ROWS)).astype(np.float32)


def _apart(query: NDArray[np.float32], mean: NDArray[np.float32]) -> NDArray[np.float32]:
    sought = query - mean
    sought /= np.float32(max(np.linalg.norm(sought), 1e-6))
    return sought


def _lengths(rows: NDArray[np.float32], mean: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows' distances from the mean."""
    squares = np.vecdot(rows, rows) - 2 * inner_products(rows, mean) + np.vecdot(mean, mean)
    return np.sqrt(np.maximum(squares, np.float32(1e-6)))
