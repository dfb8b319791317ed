"""BM25 as LangChain's ``BM25Retriever`` has it, for comparison with published figures.

It splits texts at white space, with case and punctuation kept and no stop words, and scores by
``BM25Okapi`` of the package ``rank_bm25``: a term in more than half of the documents would have a
negative weight, and gets a share of the mean weight instead. BM25 as
:class:`theanine.retrieval.lexical.BM25Index` has it finds much more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from theanine.retrieval.lexical import K1, B

EPSILON = 0.25
"""Share of the mean weight of all terms that a term in more than half of the documents gets."""


class OkapiBM25:
    """The documents, and their scores for a query."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._counts = [Counter(text.split()) for text in texts]
        lengths = np.array([counts.total() for counts in self._counts], np.float64)
        average = max(float(lengths.mean()), 1e-9) if len(lengths) else 1.0
        self._norms = K1 * (1 - B + B * lengths / average)
        n = len(texts)
        documents = Counter(term for counts in self._counts for term in counts)
        weights = {term: log(n - df + 0.5) - log(df + 0.5) for term, df in documents.items()}
        floor = EPSILON * fmean(weights.values()) if weights else 0.0
        self._weights = {term: w if w >= 0 else floor for term, w in weights.items()}

    def scores(self, query: str) -> NDArray[np.float32]:
        """Return the score of every document, ``(n,)``; a term of the query counts each time."""
        scores = np.zeros(len(self._counts))
        for term, times in Counter(query.split()).items():
            if weight := self._weights.get(term):
                counts = np.array([document[term] for document in self._counts], np.float64)
                scores += times * weight * counts * (K1 + 1) / (counts + self._norms)
        return np.asarray(scores, np.float32)
