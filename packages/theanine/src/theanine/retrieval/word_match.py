"""The words of each unit with their vectors, and how well the words of a query match them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.static import word_vectors
from theanine.retrieval.growing_array import GrowingArray, array_state, restore_arrays
from theanine.retrieval.neighbors import Positions
from theanine.retrieval.scoring import matrix_product

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


class UnitWords:
    """The distinct words of units that are added over time."""

    def __init__(self) -> None:
        # Of each distinct word: its number, its centered vector, and its weight.
        self._numbers: dict[str, int] = {}
        self._vectors: GrowingArray[np.float32] = GrowingArray(np.float32)
        self._weights: GrowingArray[np.float32] = GrowingArray(np.float32)
        # The numbers of each unit's words, and where each unit's begin.
        self._unit_words: GrowingArray[np.int32] = GrowingArray(np.int32)
        self._starts: GrowingArray[np.int64] = GrowingArray(np.int64, [0])

    def extend(self, units: Sequence[Sequence[str]]) -> None:
        """Add units by their distinct words."""
        numbers = self._numbers
        added = list(
            dict.fromkeys(word for words in units for word in words if word not in numbers)
        )
        if added:
            vectors, weights = _centered_words(added)
            self._vectors.extend(vectors)
            self._weights.extend(weights)
            numbers.update((word, number) for number, word in enumerate(added, len(numbers)))
        ends = len(self._unit_words) + np.cumsum([len(words) for words in units], dtype=np.int64)
        self._unit_words.extend([numbers[word] for words in units for word in words])
        self._starts.extend(ends)

    def state(self) -> dict[str, Any]:
        """Return all that :meth:`restore` needs."""
        return array_state(self) | {"words": list(self._numbers)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over the words of other units."""
        restore_arrays(self, state)
        self._numbers = {word: number for number, word in enumerate(state["words"])}

    def vectors(self, words: Sequence[str]) -> tuple[Matrix, NDArray[np.float32]]:
        """Return the centered vectors of some words, ``(n, 256)``, and their weights, ``(n,)``."""
        numbers = np.array([self._numbers.get(word, -1) for word in words], np.int64)
        new = numbers < 0
        if new.all():
            return _centered_words(words)
        vectors, weights = self._vectors.values[numbers], self._weights.values[numbers]
        if unknown := [word for word in words if word not in self._numbers]:
            vectors[new], weights[new] = _centered_words(unknown)
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
        words = self._unit_words.values[
            np.arange(counts.sum(), dtype=np.int64) + np.repeat(starts - offsets, counts)
        ]
        # Distinct words by a table, which takes a tenth of the time of sorting them.
        table = np.zeros(len(self._numbers), np.int64)
        table[words] = 1
        distinct = np.flatnonzero(table)
        table[distinct] = np.arange(len(distinct))
        rows = table[words]
        cosines = matrix_product(self._vectors.values.take(distinct, axis=0), vectors.T)
        highest = np.maximum(cosines.max(axis=1), 0)[rows]
        filled = counts > 0
        means[filled] = np.add.reduceat(highest, offsets[filled]) / counts[filled]
        # The first words of all units, then the second ones of those that have two, and so on:
        # `maximum.reduceat` takes three times as long.
        order = np.argsort(-counts, kind="stable")
        firsts, sorted_best = offsets[order], np.zeros_like(best)
        lengths: list[int] = counts[order].tolist()
        longer = len(lengths)
        for place in range(lengths[0]):
            while lengths[longer - 1] <= place:
                longer -= 1
            rest = sorted_best[:longer]
            np.maximum(rest, cosines.take(rows[firsts[:longer] + place], axis=0), out=rest)
        best[order] = sorted_best
        return best, means
