"""Unit norm, as every embedder gives it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.base import Vectors


def normalize_rows(rows: NDArray[Any]) -> Vectors:
    """Each row of ``(n, d)`` divided by its norm, as float32; a row of zeros stays one."""
    wide = rows.astype(np.float32)
    norms = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    norms[norms == 0] = 1
    return np.divide(wide, norms[:, np.newaxis], dtype=np.float32)
