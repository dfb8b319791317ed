"""The features by which the local linker judges a pair of memories; :func:`_columns` lists them.

All are computed from two readings (:mod:`theanine.linking.reading`), for many pairs at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from theanine.embeddings.static import DIMENSION
from theanine.linking.reading import (
    CUES,
    MAX_IDF,
    Features,
    Reading,
    embed_words,
    load_background,
)

ReadPair = tuple[Reading, Reading, float | None]
"""An older and a newer reading, and the days between the two; None if unknown."""
Column = NDArray[Any]
"""One entry for each pair, or a row for each."""

_KINDS = {name: 1 << number for number, (name, _) in enumerate(CUES)}
_IN_RELATED = (
    "wish", "feeling", "hindrance", "change", "because", "so", "negation", "past", "future",
    "news", "continued", "trouble", "first person", "second person", "question",
)  # fmt: skip
"""Cues that count by themselves in the sentences that share content words with the other one."""
_SAME_WORD = 0.999
"""Cosine above which two words are the same one."""
_BLOCK = 256
"""Pairs whose features are computed at once."""


@cache
def feature_names() -> list[str]:
    """Return the name of each column of :func:`pair_features`."""
    return list(_columns([]))


def pair_features(pairs: Sequence[ReadPair]) -> Features:
    """Return the features of pairs, ``(pairs, features)``."""
    rows = np.empty((len(pairs), len(feature_names())), np.float32)
    for start in range(0, len(pairs), _BLOCK):
        block = slice(start, start + _BLOCK)
        for number, column in enumerate(_columns(pairs[block]).values()):
            rows[block, number] = column
    return rows


def _columns(pairs: Sequence[ReadPair]) -> dict[str, Column]:
    """Return the features of pairs by name."""

    def each(feature: Callable[[Reading, Reading], float]) -> Column:
        return np.array([feature(older, newer) for older, newer, _ in pairs], np.float32)

    older, newer = _tabulate(pairs)
    background = load_background()
    cosines = older.word_vectors @ newer.word_vectors.T
    in_newer, in_older = _compare(older, newer, cosines), _compare(newer, older, cosines.T)
    shared = np.where(in_older.shared, newer.weights, 0)
    rarest, weight = _largest(shared, newer.count, 3), newer.sums(shared)
    share_of_newer, share_of_older = weight / newer.total, weight / older.total
    matches = _largest(in_older.product, newer.count, 5)
    alike = _largest(in_older.different, newer.count * older.count, 3)
    same_bigram = (older.bigrams[:, :, None] == newer.bigrams[:, None, :]).any(1)
    same_bigram &= newer.bigrams != 0
    older_words, newer_words = np.log1p(older.count), np.log1p(newer.count)
    days = np.array([np.nan if days is None else days for *_, days in pairs])
    return {
        "cosine": np.vecdot(older.mean, newer.mean),
        "centered cosine": _centered_cosine(older.mean, newer.mean, background.mean),
        "weighted cosine": np.vecdot(older.weighted, newer.weighted),
        "centered weighted cosine": _centered_cosine(
            older.weighted, newer.weighted, background.weighted
        ),
        "shared words": np.minimum(6, newer.sums(in_older.shared)),
        "rarest shared word": rarest[:, 0] / MAX_IDF,
        "second rarest": rarest[:, 1] / MAX_IDF,
        "third rarest": rarest[:, 2] / MAX_IDF,
        "shared weight": np.minimum(3, weight / MAX_IDF),
        "share of newer": share_of_newer,
        "share of older": share_of_older,
        "share of both": weight / (newer.total + older.total - weight),
        "larger share": np.maximum(share_of_newer, share_of_older),
        "smaller share": np.minimum(share_of_newer, share_of_older),
        "newer in older": newer.sums(in_older.cosine * newer.weights) / newer.total,
        "older in newer": older.sums(in_newer.cosine * older.weights) / older.total,
        "best alike": alike[:, 0],
        "three best alike": alike.sum(1) / np.clip(older.count * newer.count, 1, 3),
        "best match": matches[:, 0],
        "second match": matches[:, 1],
        "third match": matches[:, 2],
        "five matches": matches.sum(1),
        "bigrams": np.minimum(5, same_bigram.sum(1)),
        "content bigrams": np.minimum(3, (same_bigram & (newer.bigrams & 1 > 0)).sum(1)),
        "names": each(lambda older, newer: min(2, len(older.names & newer.names))),
        "numbers": each(lambda older, newer: min(2, len(older.numbers & newer.numbers))),
        "same person": each(_same_person),
        "same people": each(lambda older, newer: older.people == newer.people),
        "third mentioned": each(lambda older, newer: bool(newer.mentioned - older.people)),
        "reported": each(lambda older, _: older.reported),
        "days": np.where(np.isnan(days), 2.5, np.log1p(np.fmax(0, days))),
        "undated": np.isnan(days),
        "older words": older_words,
        "newer words": newer_words,
        "fewer words": np.minimum(older_words, newer_words),
        "more words": np.maximum(older_words, newer_words),
        "older weight": np.minimum(60, older.total) / 30,
        "newer weight": np.minimum(60, newer.total) / 30,
        **_flags("older", older.cues, _KINDS),
        **_flags("newer", newer.cues, _KINDS),
        **_flags("older, related", older.cues_of(in_newer.shared), _IN_RELATED),
        **_flags("newer, related", newer.cues_of(in_older.shared), _IN_RELATED),
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Side:
    """The older or the newer readings of pairs as arrays; terms are those of all pairs in a row.

    Attributes:
        mean, weighted: the two vectors, ``(pairs, d)``.
        total: weight of all terms, ``(pairs,)``.
        cues: bits of the cues, ``(pairs,)``.
        bigrams: numbers of the bigrams, ``(pairs, bigrams)``, filled up with 0.
        count, start: number of terms, and position of the first one, ``(pairs,)``.
        pair: pair of each term, ``(terms,)``.
        term: a number for each distinct one, ``(terms,)``.
        weights: weight of each, ``(terms,)``.
        term_cues: bits of the cues in the sentences that have it, ``(terms,)``.
        word: row of its word in ``word_vectors``, ``(terms,)``.
        word_vectors: ``(words, d)``.
    """

    mean: Features
    weighted: Features
    total: Column
    cues: Column
    bigrams: Column
    count: Column
    start: Column
    pair: Column
    term: Column
    weights: Column
    term_cues: Column
    word: Column
    word_vectors: Features

    def sums(self, values: Column) -> Column:
        """Return the sum of the terms' values in each pair."""
        return np.bincount(self.pair, values, len(self.count))

    def cues_of(self, chosen: Column) -> Column:
        """Return the bits of the cues in the sentences that have any of the chosen terms."""
        bits = np.zeros(len(self.count), np.int32)
        np.bitwise_or.at(bits, self.pair[chosen], self.term_cues[chosen])
        return bits


def _tabulate(pairs: Sequence[ReadPair]) -> tuple[_Side, _Side]:
    """Return the older and the newer readings of pairs."""
    rows: dict[Reading, int] = {}
    older = [rows.setdefault(older, len(rows)) for older, _, _ in pairs]
    newer = [rows.setdefault(newer, len(rows)) for _, newer, _ in pairs]
    readings = list(rows)
    Reading.embed(readings)
    word_vectors, words = embed_words([word for reading in readings for word in reading.words])
    terms = _join([reading.terms for reading in readings], np.int64)
    weights = _join([reading.weights for reading in readings], np.float64)
    term_cues = _join([reading.term_cues for reading in readings], np.int32)
    vectors = np.array([reading.vectors for reading in readings], np.float32)
    vectors = vectors.reshape(-1, 2, DIMENSION)
    totals = np.array([reading.total for reading in readings])
    cues = np.array([reading.cues for reading in readings], np.int32)
    counts = np.array([len(reading.idf) for reading in readings], int)
    starts = np.cumsum(counts) - counts
    bigrams = _pad([reading.bigrams for reading in readings])

    def side(chosen: Sequence[int]) -> _Side:
        row = np.array(chosen, int)
        count = counts[row]
        at = _ranges(starts[row], count)
        distinct, word = np.unique(words[at], return_inverse=True)
        return _Side(
            mean=vectors[row, 0],
            weighted=vectors[row, 1],
            total=totals[row],
            cues=cues[row],
            bigrams=bigrams[row],
            count=count,
            start=np.cumsum(count) - count,
            pair=np.repeat(np.arange(len(row)), count),
            term=terms[at],
            weights=weights[at],
            term_cues=term_cues[at],
            word=word,
            word_vectors=word_vectors[distinct],
        )

    return side(older), side(newer)


def _join(arrays: Sequence[Column], dtype: DTypeLike) -> Column:
    return np.concatenate([np.zeros(0, dtype), *arrays])


def _pad(arrays: Sequence[Column]) -> Column:
    """Return arrays as rows, filled up with 0."""
    count = np.array([len(array) for array in arrays], np.int64)
    rows = np.zeros((len(count), int(count.max(initial=0))), np.int64)
    rows[np.arange(rows.shape[1]) < count[:, None]] = _join(arrays, np.int64)
    return rows


def _ranges(starts: Column, counts: Column) -> Column:
    """Return the numbers of ranges, one after the other."""
    before = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) + np.repeat(starts - before, counts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Comparison:
    """How the terms of one side compare with those of the other side of their pairs.

    Attributes:
        shared: whether the other one has the term, ``(terms,)``.
        cosine: highest cosine of its word to a word of the other one, 0 if that has none.
        product: highest product of cosine and weights, -inf if the other one has no words.
        different: that product for each two words, 0 if they are the same one; pair by pair.
    """

    shared: Column
    cosine: Column
    product: Column
    different: Column


def _compare(own: _Side, other: _Side, cosines: Features) -> _Comparison:
    counts = other.count[own.pair]
    left = np.repeat(np.arange(len(own.pair)), counts)
    right = _ranges(other.start[own.pair], counts)
    alike = cosines[own.word[left], other.word[right]]
    weights = own.weights.astype(np.float32)[left] * other.weights.astype(np.float32)[right]
    product = alike * (weights / np.float32(MAX_IDF**2))
    same = own.term[left] == other.term[right]
    return _Comparison(
        shared=_reduce(np.logical_or, same, counts, False),
        cosine=_reduce(np.maximum, alike, counts, 0),
        product=_reduce(np.maximum, product, counts, -np.inf),
        different=np.where(alike > _SAME_WORD, 0, product),
    )


def _reduce(function: np.ufunc, values: Column, counts: Column, empty: float) -> Column:
    """Reduce runs of values, given their lengths, to one value each."""
    result = np.full(len(counts), empty, values.dtype)
    if len(values):
        starts = np.cumsum(counts) - counts
        result[counts > 0] = function.reduceat(values, starts[counts > 0])
    return result


def _largest(values: Column, counts: Column, k: int) -> Column:
    """Return the largest finite values of each run, in descending order, filled up with 0."""
    values, largest = values.copy(), np.zeros((len(counts), k))
    run = np.repeat(np.arange(len(counts)), counts)
    for column in range(k):
        best = _reduce(np.maximum, values, counts, -np.inf)
        largest[:, column] = np.where(np.isfinite(best), best, 0)
        at = np.flatnonzero(values == best[run])
        values[at[np.flatnonzero(np.diff(run[at], prepend=-1))]] = -np.inf  # the first of each run
    return largest


def _centered_cosine(older: Features, newer: Features, mean: Features) -> Column:
    """Return the cosines of rows after a mean is subtracted."""
    older, newer = older - mean, newer - mean
    norms = np.sqrt(np.vecdot(older, older)), np.sqrt(np.vecdot(newer, newer))
    return np.vecdot(older, newer) / (np.maximum(norms[0], 1e-6) * np.maximum(norms[1], 1e-6))


def _flags(where: str, bits: Column, kinds: Iterable[str]) -> dict[str, Column]:
    flags = bits[:, None] & np.array([_KINDS[kind] for kind in kinds], np.int32) > 0
    return {f"{where}: {kind}": column for kind, column in zip(kinds, flags.T, strict=True)}


def _same_person(older: Reading, newer: Reading) -> float:
    if not (older.people and newer.people):
        return 0.5
    return float(not older.people.isdisjoint(newer.people))
