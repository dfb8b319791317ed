"""Dense scores: cosine similarity after the mean of all vectors is subtracted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theanine.retrieval.growing_array import GrowingArray
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
        if self._norms is None:
            self._norms = self.norms(self.vectors.values, self._squares.values)
        return self.score_rows(query, self.vectors.values, self._norms)

    def score_rows(
        self,
        query: NDArray[np.float32],
        rows: NDArray[np.float32],
        norms: NDArray[np.float32] | None = None,
    ) -> Scores:
        """Return the centered cosine of some rows ``(m, d)`` to the query.

        ``norms`` are those of the centered rows, if known.
        """
        mean = self.mean
        centered = self.center(query)
        norms = self.norms(rows) if norms is None else norms
        products = inner_products(rows, centered) - np.vecdot(mean, centered)
        return np.asarray(products / norms, np.float32)

    def norms(
        self, rows: NDArray[np.float32], squares: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Return the distances of rows ``(m, d)`` from the current mean.

        ``squares`` are their squared norms, if known.
        """
        mean = self.mean
        squares = np.vecdot(rows, rows) if squares is None else squares
        squares = squares - 2 * inner_products(rows, mean) + np.vecdot(mean, mean)
        return np.sqrt(np.maximum(squares, np.float32(1e-6)))

    def center(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Subtract the current mean from a query and scale it to unit norm."""
        centered = query - self.mean
        centered /= np.float32(max(np.linalg.norm(centered), 1e-6))
        return centered

    @property
    def mean(self) -> NDArray[np.float32]:
        """The current mean of all rows, ``(d,)``."""
        if self._mean is None:
            total = np.zeros(1) if self._sum is None else self._sum
            self._mean = (total / (len(self.vectors) + PRIOR_ROWS)).astype(np.float32)
        return self._mean
