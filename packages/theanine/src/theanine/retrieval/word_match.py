"""The words of each unit with their vectors, and how well the words of a query match them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, reduce
from itertools import compress, count, filterfalse
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.static import word_vectors
from theanine.retrieval.growing_array import GrowingArray, array_state, restore_arrays
from theanine.retrieval.neighbors import Positions
from theanine.retrieval.scoring import concatenated_ranges, distinct, matrix_product

Matrix = NDArray[np.float32]


@cache
def _mean_word() -> NDArray[np.float32]:
    """Return the mean of common words' vectors, ``(256,)``: what all words have in common."""
    common = "time day year people way work home friend family thing life week place good new go"
    return np.mean(word_vectors(common.split())[0], axis=0)


def _centered_words(words: Sequence[str]) -> tuple[Matrix, NDArray[np.float32]]:
    """Return the vectors of words without that mean, unit norm, and the words' weights."""
    vectors, weights = word_vectors(words)
    rows = vectors - _mean_word()
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, 1e-6), np.float32), weights


_VOCABULARY = 100_000
"""Words of a vocabulary that no further units share: a tenth of a gigabyte."""


class _Vocabulary:
    """The centered vectors of words, shared by the units of many scopes; rows never change."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._words: list[str] = []
        self._vectors: GrowingArray[np.float32] = GrowingArray(np.float32)
        self._weights: GrowingArray[np.float32] = GrowingArray(np.float32)
        self._adding = Lock()  # clients of several threads may add words

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def vectors(self) -> Matrix:
        return self._vectors.values

    @property
    def weights(self) -> NDArray[np.float32]:
        return self._weights.values

    def words(self, rows: Iterable[int]) -> list[str]:
        """Return the words of rows."""
        return list(map(self._words.__getitem__, rows))

    def find(self, words: Sequence[str]) -> list[int | None]:
        """Return the rows of words; None for a word that is not there."""
        return list(map(self._rows.get, words))

    def rows(self, words: Sequence[str]) -> list[int]:
        """Return the rows of words, adding those that are new."""
        found = self.find(words)
        if None not in found:
            return cast("list[int]", found)
        with self._adding:
            if new := list(dict.fromkeys(filterfalse(self._rows.__contains__, words))):
                vectors, weights = _centered_words(new)
                self._vectors.extend(vectors)
                self._weights.extend(weights)
                self._words += new
                self._rows.update(zip(new, count(len(self._rows))))
            return list(map(self._rows.__getitem__, words))


_newest = _Vocabulary()


def _vocabulary() -> _Vocabulary:
    """Return the vocabulary for new units; a full one lives as long as the units that share it."""
    global _newest
    if len(_newest) >= _VOCABULARY:
        _newest = _Vocabulary()
    return _newest


def prepare_words(words: Sequence[str]) -> None:
    """Make the vectors of words, so that no unit has to wait for them."""
    _vocabulary().rows(words)


class UnitWords:
    """The distinct words of units that are added over time.

    Their vectors are shared by all scopes of a process: most words of one occur in others.
    """

    def __init__(self) -> None:
        self._vocabulary = _vocabulary()
        # Of each distinct word: its row in the vocabulary and, once units are added, its number.
        self._rows = array("i")
        self._numbers: dict[str, int] = {}
        # The numbers of each unit's words, and where each unit's begin.
        self._unit_words: GrowingArray[np.int32] = GrowingArray(np.int32)
        self._starts: GrowingArray[np.int64] = GrowingArray(np.int64, [0])

    def extend(self, units: Sequence[Sequence[str]]) -> None:
        """Add units by their distinct words."""
        numbers = self._numbers
        if len(numbers) < len(self._rows):  # as they were restored
            numbers.update(zip(self._vocabulary.words(self._rows), count()))
        added = list(
            dict.fromkeys(word for words in units for word in words if word not in numbers)
        )
        self._rows.extend(self._vocabulary.rows(added))
        numbers.update(zip(added, count(len(numbers))))
        ends = len(self._unit_words) + np.cumsum([len(words) for words in units], dtype=np.int64)
        self._unit_words.extend([numbers[word] for words in units for word in words])
        self._starts.extend(ends)

    def state(self) -> dict[str, Any]:
        """Return all that :meth:`restore` needs."""
        return array_state(self) | {"words": "\n".join(self._vocabulary.words(self._rows))}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over the words of other units."""
        restore_arrays(self, state)
        if words := state["words"]:
            self._rows.extend(self._vocabulary.rows(words.split("\n")))

    def vectors(self, words: Sequence[str]) -> tuple[Matrix, NDArray[np.float32]]:
        """Return the centered vectors of some words, ``(n, 256)``, and their weights, ``(n,)``."""
        found = self._vocabulary.find(words)
        new = [row is None for row in found]
        if all(new):
            return _centered_words(words)
        rows = [row or 0 for row in found]
        vectors, weights = self._vocabulary.vectors[rows], self._vocabulary.weights[rows]
        if any(new):
            vectors[new], weights[new] = _centered_words([*compress(words, new)])
        return vectors, weights

    def match(self, vectors: Matrix, units: Positions) -> tuple[Matrix, NDArray[np.float32]]:
        """Return how well each of some words matches each of some units: ``(units, words)``.

        A match is the highest cosine of a word's vector, ``(words, 256)``, to one of the unit's
        words, at least 0. The second result is the mean of each unit's own words, ``(units,)``: of
        the highest cosine to any of ``vectors``.
        """
        best = np.zeros((len(units), len(vectors)), np.float32)
        means = np.zeros(len(units), np.float32)
        starts = self._starts.values[units]
        counts = self._starts.values[units + 1] - starts
        if not len(vectors) or not counts.any():
            return best, means
        offsets: NDArray[np.int64] = np.cumsum(counts) - counts
        words = self._unit_words.values[concatenated_ranges(starts, counts)]
        own, rows = distinct(words, len(self._rows))
        shared = np.array(self._rows, np.int64)[own]
        cosines = matrix_product(self._vocabulary.vectors, vectors.T, shared)
        np.maximum(cosines, 0, out=cosines)
        highest = reduce(np.maximum, cosines.T)[rows]
        filled = counts > 0
        means[filled] = np.add.reduceat(highest, offsets[filled]) / counts[filled]
        # The maxima of 1, 2, 4, … words from each one on: two of them cover a unit's words.
        # `maximum.reduceat` takes several times as long.
        maxima = cosines.take(rows, axis=0)
        width, longest = 1, counts.max()
        while width <= longest:
            some = np.flatnonzero((counts >= width) & (counts < 2 * width))
            first = offsets[some]
            best[some] = np.maximum(maxima[first], maxima[first + counts[some] - width])
            maxima = np.maximum(maxima[:-width], maxima[width:])
            width *= 2
        return best, means
