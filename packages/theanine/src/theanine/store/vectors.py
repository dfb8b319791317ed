"""Vectors as a store returns them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def stored_vectors(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Return vectors rounded to float16, then of unit norm or zero."""
    vectors = rows.astype(np.float16).astype(np.float32)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, np.where(norms == 0, 1, norms), dtype=np.float32)
