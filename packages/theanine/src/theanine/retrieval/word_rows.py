"""Word vectors of the memories of a scope, made when they are compared.

They decide with the words and speakers which memories a new one may be linked to: the local linker
is fitted on word vectors, which take a hundredth of the time of the fitted encoder's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.base import Vectors
from theanine.embeddings.static import DIMENSION, bundled_embedder
from theanine.quotes import without_attribution
from theanine.retrieval.dense import DenseScorer
from theanine.retrieval.scoring import Positions

FIRST = 2_000
"""Memories whose vectors are all kept; the mean that is subtracted is theirs."""
_CACHED = 20_000
"""Latest vectors that are kept of others: 20 MB."""


class WordRows:
    """The vectors of statements, without who made them.

    Args:
        text: returns the text of the memory at a position.
    """

    def __init__(self, text: Callable[[int], str]) -> None:
        self._text = text
        self._first = DenseScorer()
        self._cached: dict[str, NDArray[np.float32]] = {}

    def scorer(self, count: int) -> DenseScorer:
        """Return the vectors of the first of ``count`` memories, and their mean."""
        missing = range(len(self._first.vectors), min(count, FIRST))
        if missing:
            self._first.extend(self.vectors([*map(self._text, missing)]))
        return self._first

    def rows(self, positions: Positions) -> Vectors:
        """Return the vectors of the memories at some positions."""
        return self.vectors([*map(self._text, positions.tolist())])

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts, ``(n, 256)``."""
        if missing := [text for text in dict.fromkeys(texts) if text not in self._cached]:
            if len(self._cached) + len(missing) > _CACHED:
                self._cached.clear()
                missing = [*dict.fromkeys(texts)]
            made = bundled_embedder().vectors([without_attribution(text) for text in missing])
            self._cached.update(zip(missing, made, strict=True))
        return np.array([self._cached[text] for text in texts], np.float32).reshape(-1, DIMENSION)
