"""BM25 over texts that keep arriving: postings are appended, never rebuilt."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import log1p
from typing import Any, cast

import numpy as np
import Stemmer
from numpy.typing import ArrayLike, NDArray

K1, B = 1.5, 0.75
K1_SHORT, B_SHORT = 0.9, 0.4
"""For :meth:`Lexical.matches`, where saying a word once is nearly as good as saying it often."""
MAX_TERMS = 24
"""Terms of a question that :meth:`Lexical.matches` looks up: a long dialogue has a hundred."""
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_STOP = frozenset(
    "a about all also am an and any are as at be because been but by can could did do does for "
    "from had has have he her his how i if in into is it its just me my no not of on or our she "
    "so some than that the their them then there these they this to up us was we were what "
    "when where which who why will with would you your".split()
)
_stemmer: Any = cast("Any", Stemmer).Stemmer("english")  # a C extension without types


@lru_cache(maxsize=50_000)
def _term(word: str) -> str:
    return str(_stemmer.stemWord(word))


def tokenize(text: str) -> list[str]:
    """Stems of a text's words without stop words; two-character grams where no spaces are used."""
    found: list[str] = []
    text = text.casefold()
    if text.isascii():
        return [_term(word) for word in _WORD.findall(text) if word not in _STOP]
    for word in _WORD.findall(text):
        if _UNSPACED.search(word):
            found += [word[i : i + 2] for i in range(max(1, len(word) - 1))]
        elif word not in _STOP:
            found.append(_term(word))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Posting:
    """Where a term stands: in which documents, ascending, how often in each, and its idf."""

    documents: NDArray[np.int32]
    counts: NDArray[np.int32]
    weight: float


class BM25Index:
    """An inverted index over documents numbered 0, 1, 2, … in the order of arrival."""

    def __init__(self) -> None:
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        self._lengths = array("i")
        self._total = 0

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, text: str) -> int:
        """Index one more document; returns how many terms it has."""
        counts = Counter(tokenize(text))
        number = len(self._lengths)
        for term, count in counts.items():
            if (posting := self._postings.get(term)) is None:
                posting = self._postings[term] = (array("i"), array("i"))
            posting[0].append(number)
            posting[1].append(count)
        length = sum(counts.values())
        self._lengths.append(length)
        self._total += length
        return length

    def saturations(self, sought: Iterable[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """What BM25 adds up, apart: how surely each document has each term, and the terms' idf.

        ``(t, n)``, 0 to 1, and ``(t,)``, for the terms that are in any document; of many terms,
        the :data:`MOST` rarest.
        """
        found = self.postings(sought)
        chances = np.zeros((len(found), len(self._lengths)), np.float32)
        for row, posting in enumerate(found):
            chances[row, posting.documents] = self.tf_saturation(posting.documents, posting.counts)
        return chances, np.array([posting.weight for posting in found], np.float32)

    def postings(self, sought: Iterable[str]) -> list[Posting]:
        """Where the terms stand that are in any document: the :data:`MOST` rarest, rarest first."""
        known = [term for term in set(sought) if term in self._postings]
        known.sort(key=lambda term: (len(self._postings[term][0]), term))
        # Copies: an array whose buffer is lent out could not grow when a turn arrives.
        found = [self._postings[term] for term in known[:MAX_TERMS]]
        return [
            Posting(np.array(documents), np.array(counts), self._rarity(len(documents)))
            for documents, counts in found
        ]

    def tf_saturation(
        self, documents: NDArray[np.int32], counts: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        """How surely documents have a term that stands so often in them, 0 to 1, ``(m,)``."""
        lengths = np.frombuffer(self._lengths, np.intc)[documents]
        times = counts.astype(np.float32)
        return np.asarray(times / (times + self._normal(K1_SHORT, B_SHORT, lengths)), np.float32)

    def scores(self, query: str) -> NDArray[np.float32]:
        """BM25 of every document for the query (Robertson's, with idf as in Lucene)."""
        n = len(self._lengths)
        out = np.zeros(n, np.float32)
        if n == 0:
            return out
        norm = self._normal(K1, B, self._lengths)
        for term in sorted(set(tokenize(query))):
            if (posting := self._postings.get(term)) is None:
                continue
            # Copies: an array whose buffer is lent out could not grow when a turn arrives.
            documents, counts = np.array(posting[0]), np.array(posting[1], np.float32)
            out[documents] += (
                self._rarity(len(documents)) * counts * (K1 + 1) / (counts + norm[documents])
            )
        return out

    def _rarity(self, documents: int) -> float:
        """The idf of a term that is in so many documents."""
        return log1p((len(self._lengths) - documents + 0.5) / (documents + 0.5))

    def _normal(self, k1: float, b: float, lengths: ArrayLike) -> NDArray[np.float32]:
        """What a term's count is held against in documents: more in longer ones."""
        average = max(self._total / max(len(self._lengths), 1), 1e-9)
        return np.asarray(k1 * (1 - b + b * np.array(lengths, np.float32) / average), np.float32)
