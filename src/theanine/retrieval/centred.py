"""Cosine after what all units have in common is taken out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from theanine.retrieval.fusion import Scores, dots
from theanine.retrieval.rows import Rows

FEW = 10
"""Units from which a mean begins to say something; with fewer, less of it is taken out."""


class Centred:
    """Vectors that keep arriving, and their mean.

    Texts of one relationship share most of a direction; without it, cosines tell them apart better
    (Mu and Viswanath, "All-but-the-Top", 2018: the mean; more components did not help here).
    """

    def __init__(self) -> None:
        self.vectors: Rows[np.float32] = Rows(np.float32)
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
        rows = self.vectors.all
        if self._centre is None:
            self._centre = _centre(rows, self._sum)
        mean, lengths = self._centre
        sought = query - mean
        sought /= np.float32(max(np.linalg.norm(sought), 1e-6))
        return np.asarray((dots(rows, sought) - np.vecdot(mean, sought)) / lengths, np.float32)


def _centre(
    rows: NDArray[np.float32], total: NDArray[np.float64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The mean, and the rows' distances from it."""
    mean = (total / (len(rows) + FEW)).astype(np.float32)
    squares = np.vecdot(rows, rows) - 2 * dots(rows, mean) + np.vecdot(mean, mean)
    return mean, np.sqrt(np.maximum(squares, np.float32(1e-6)))
