"""Decision-tree ensembles with numpy: many small trees, evaluated together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """The nodes of all trees, each tree's in one run.

    Attributes:
        roots: position of each tree's root, ``(trees,)``.
        features: the column that a node compares, ``(nodes,)``; a leaf compares the first.
        thresholds: at most this goes left, ``(nodes,)``.
        left, right: positions of the children, ``(nodes,)``; a leaf's are itself.
        values: what a leaf adds, ``(nodes, outputs)``.
        depth: of the deepest tree.
    """

    roots: NDArray[np.intp]
    features: NDArray[np.intp]
    thresholds: NDArray[np.float32]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    values: NDArray[np.float32]
    depth: int

    def __call__(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the sums over all trees, ``(n, outputs)``, for rows ``(n, columns)``."""
        nodes: NDArray[np.intp] = np.broadcast_to(self.roots, (len(rows), len(self.roots)))
        values: NDArray[np.float32] = np.ascontiguousarray(rows, np.float32).ravel()
        starts: NDArray[np.intp] = np.arange(len(rows))[:, None] * rows.shape[1]
        children = np.stack([self.right, self.left], 1).ravel()
        for _ in range(self.depth):  # take is much faster than an index of two dimensions
            compared = np.take(values, starts + np.take(self.features, nodes))
            smaller = compared <= np.take(self.thresholds, nodes)
            nodes = np.take(children, 2 * nodes + smaller)
        return self.values[nodes].sum(1)

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the arrays to save; children are stored relative to their parent."""
        own = np.arange(len(self.left))
        return {
            f"{prefix}_roots": self.roots,
            f"{prefix}_features": self.features.astype(np.uint8),
            f"{prefix}_thresholds": self.thresholds,
            f"{prefix}_left": (self.left - own).astype(np.int16),
            f"{prefix}_right": (self.right - own).astype(np.int16),
            f"{prefix}_values": self.values.astype(np.float16),
            f"{prefix}_depth": np.array(self.depth),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], prefix: str) -> Forest:
        """Return the forest of saved arrays."""
        features = arrays[f"{prefix}_features"].astype(np.intp)
        own = np.arange(len(features))
        return cls(
            roots=arrays[f"{prefix}_roots"].astype(np.intp),
            features=features,
            thresholds=arrays[f"{prefix}_thresholds"].astype(np.float32),
            left=own + arrays[f"{prefix}_left"],
            right=own + arrays[f"{prefix}_right"],
            values=arrays[f"{prefix}_values"].astype(np.float32),
            depth=int(arrays[f"{prefix}_depth"]),
        )
