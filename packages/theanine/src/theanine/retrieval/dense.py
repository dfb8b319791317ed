"""Dense scores: cosine similarity after the mean of all vectors is subtracted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theanine.retrieval.growing_array import GrowingArray
from theanine.retrieval.neighbors import Positions
from theanine.retrieval.scoring import Scores, inner_products

PRIOR_ROWS = 10
"""Zero vectors counted into the mean, which shrinks the mean of few vectors."""


class DenseScorer:
    """Vectors that are added over time, and their mean.

    Texts of one relationship share most of a direction; without it, cosines discriminate better
    (Mu and Viswanath, "All-but-the-Top", 2018: the mean; removing more components did not help).
    """

    def __init__(self) -> None:
        self.vectors: GrowingArray[np.float32] = GrowingArray(np.float32)
        self._squares: GrowingArray[np.float32] = GrowingArray(np.float32)  # squared norms
        self._sum: NDArray[np.float64] | None = None
        # Of all rows, until rows are added: their mean, and the norms of the centered rows.
        self._mean: NDArray[np.float32] | None = None
        self._norms: NDArray[np.float32] | None = None

    def extend(self, vectors: NDArray[np.float32]) -> None:
        """Add rows of unit norm, ``(n, d)``."""
        if not len(vectors):
            return
        self.vectors.extend(vectors)
        self._squares.extend(np.vecdot(vectors, vectors))
        total = np.zeros(vectors.shape[1]) if self._sum is None else self._sum
        for row in vectors:  # one at a time: the sum must not depend on how rows are batched
            total = total + row
        self._sum = total
        self._mean = self._norms = None

    def state(self) -> dict[str, Any]:
        """Return all that :meth:`restore` needs; the vectors are rounded to float16."""
        total = np.zeros(0) if self._sum is None else self._sum
        return {"vectors": self.vectors.values.astype(np.float16), "sum": total}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over the vectors of another scorer."""
        self.vectors.restore(state["vectors"])
        self._squares.restore(np.vecdot(self.vectors.values, self.vectors.values))
        self._sum = state["sum"].copy() if len(state["sum"]) else None
        self._mean = self._norms = None

    def scores(self, query: NDArray[np.float32]) -> Scores:
        """Return the centered cosine of every row to the query, ``(n,)``, -1 to 1."""
        if self._sum is None:
            return np.zeros(0, np.float32)
        rows, mean, centered = self.vectors.values, self.mean, self._center(query)
        if self._norms is None:  # both products in one pass over the rows
            products, of_mean = np.vecdot(rows[:, None], np.stack([centered, mean])).T
            self._norms = _distances(self._squares.values, of_mean, mean)
        else:
            products = inner_products(rows, centered)
        return _cosines(products, centered, mean, self._norms)

    def score_rows(
        self,
        query: NDArray[np.float32],
        rows: NDArray[np.float32],
        norms: NDArray[np.float32] | None = None,
    ) -> Scores:
        """Return the centered cosine of some rows ``(m, d)`` to the query.

        ``norms`` are those of the centered rows, if known.
        """
        centered = self._center(query)
        norms = self.norms(rows) if norms is None else norms
        return _cosines(inner_products(rows, centered), centered, self.mean, norms)

    def norms(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the distances of rows ``(m, d)`` from the current mean."""
        return _distances(np.vecdot(rows, rows), inner_products(rows, self.mean), self.mean)

    def _center(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Subtract the current mean from a query and scale it to unit norm."""
        centered = query - self.mean
        centered /= np.float32(max(np.linalg.norm(centered), 1e-6))
        return centered

    def centered(self, at: Positions) -> NDArray[np.float32]:
        """Return the rows at some positions without the mean, of unit norm."""
        rows = self.vectors.values[at] - self.mean
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-6))
        return np.asarray(rows, np.float32)

    @property
    def mean(self) -> NDArray[np.float32]:
        """The current mean of all rows, ``(d,)``."""
        if self._mean is None:
            total = np.zeros(1) if self._sum is None else self._sum
            self._mean = (total / (len(self.vectors) + PRIOR_ROWS)).astype(np.float32)
        return self._mean


def _cosines(
    products: Scores,
    centered: NDArray[np.float32],
    mean: NDArray[np.float32],
    norms: NDArray[np.float32],
) -> Scores:
    """Return the cosines of centered rows to a centered query, from the rows' products with it."""
    return np.asarray((products - np.vecdot(mean, centered)) / norms, np.float32)


def _distances(
    squares: NDArray[np.float32], products: Scores, mean: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the distances of rows from the mean, from their squared norms and products with it."""
    squared = squares - 2 * products + np.vecdot(mean, mean)
    return np.sqrt(np.maximum(squared, np.float32(1e-6)))
