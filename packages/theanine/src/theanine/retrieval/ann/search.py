"""Rank candidates only, in scopes with too many units to score each.

Candidates are the best units by an index of their smoothed vectors, and the best by all other
evidence. They get the scores that :class:`Ranking` would give them, except that the scales of dense
and lexical scores are estimated from samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theanine.retrieval.ann.index import VectorIndex
from theanine.retrieval.lexical import Posting
from theanine.retrieval.neighbors import Matrix, NeighborSmoothing, Positions
from theanine.retrieval.query import Query
from theanine.retrieval.ranking import Ranking
from theanine.retrieval.scoring import Scores

DENSE_CANDIDATES = 300
"""Candidates by vectors in a scope of 50,000; grows with the square root of the scope's size."""
OTHER_CANDIDATES = 1_000
"""Candidates by all other evidence."""
MAX_RESULTS = 100
"""Largest ``k`` of an approximate search; for more results every unit is scored."""
MAX_FULL_SCAN = 20_000
"""If a mask or a date leaves at most so many units, all of them are candidates."""
MAX_WIDENING = 5
"""Limit of the factor by which a mask or a date raises the number of candidates."""
SAMPLE_SIZE = 8_192
"""Units from which the scale of the cosines is estimated, to about a hundredth."""
SAMPLE_RUN = 8
"""Length of the runs of consecutive units in that sample, which share their neighbors."""
WORD_SAMPLE_SIZE = 1_024
"""Units from which the scale of the lexical scores is estimated; their upper bounds are exact."""

Mask = NDArray[np.bool_]


def smoothed_vectors(
    ranking: Ranking, mean: NDArray[np.float32], start: int, stop: int
) -> NDArray[np.float32]:
    """Return the vectors that are indexed for units ``start`` to ``stop``, ``(stop - start, d)``.

    The inner product of a centered query with such a vector is the unit's smoothed dense score,
    before standardization: the sum of its centered cosine and those of its neighbors, by proximity.
    ``mean`` is subtracted from the vectors.
    """
    reach = ranking.smoothing.reach
    first, last = max(start - reach, 0), stop + reach
    rows = ranking.vectors.values[first:last] - mean
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-3)
    positions = np.arange(first, first + len(rows))
    smoothed = ranking.smoothing.subset(positions).smooth(np.ascontiguousarray(rows.T))
    return np.ascontiguousarray(smoothed[:, start - first : stop - first].T)


class ApproximateSearch:
    """Searches a ranking with an index of its first units; later units are scored exactly."""

    def __init__(self, ranking: Ranking, max_full_scan: int = MAX_FULL_SCAN) -> None:
        self.ranking, self._max_full_scan = ranking, max_full_scan
        self.index: VectorIndex | None = None
        self._sample: _DenseSample | None = None

    def applies(self, k: int) -> bool:
        """Whether there is an index, the scope is large enough, and ``k`` is small enough."""
        is_large = len(self.ranking) > self.ranking.config.exact_upto
        return is_large and k <= MAX_RESULTS and self.index is not None

    def scores(self, query: Query, among: Mask | None = None) -> tuple[Positions, Scores]:
        """Return candidates, ascending, and their scores.

        Args:
            among: mask of the units to search, ``(n,)``.
        """
        ranking, n = self.ranking, len(self.ranking)
        terms = _TermScorer(ranking, query)
        positions = np.unique(np.concatenate(list(self._candidates(query, terms, among))))
        if among is not None:
            positions = positions[among[positions]]
        context = _Neighborhood(ranking.smoothing, positions, n)
        cosines = ranking.dense.score_rows(query.vector, ranking.vectors.values[context.positions])
        if self._sample is None or n > self._sample.ranking_size * 1.02:
            self._sample = _DenseSample(ranking)
        dense, smoothed = self._sample.standardize(query, cosines, context)
        lexical = terms.scale(terms.scores(context))
        return positions, ranking.combine(
            query, dense=dense, smoothed=smoothed, lexical=lexical, at=positions
        )

    def _candidates(
        self, query: Query, terms: _TermScorer, among: Mask | None
    ) -> Iterator[Positions]:
        n, widening = len(self.ranking), 1.0
        for mask in (among, self.ranking.date_mask(query)):
            if mask is None:
                continue
            count = np.count_nonzero(mask)
            if count <= self._max_full_scan:
                yield np.flatnonzero(mask)
            widening = max(widening, min(n / max(count, 1), MAX_WIDENING))
        if among is None or np.count_nonzero(among) > self._max_full_scan:
            yield self.nearest(query, widening)
            # By all evidence but vectors, with the upper bounds of the lexical scores.
            zeros = np.broadcast_to(np.float32(0), n)
            scores = self.ranking.combine(
                query, dense=zeros, smoothed=zeros, lexical=terms.scale(terms.bounds)
            )
            if among is not None:
                scores[~among] = -np.inf
            yield _top_positions(scores, int(OTHER_CANDIDATES * widening))

    def nearest(self, query: Query, widening: float = 1) -> Positions:
        """Return the candidates by smoothed dense score, unordered.

        These are approximately the best units of the index, and the best of those not indexed yet;
        ``widening`` times as many as usual.
        """
        ranking, index = self.ranking, self.index
        assert index is not None
        k = int(widening * DENSE_CANDIDATES * max(len(ranking) / 50_000, 1) ** 0.5)
        indexed = index.nearest(ranking.dense.center(query.vector), k)
        first = max(index.rows - ranking.smoothing.reach, 0)
        cosines = ranking.dense.score_rows(query.vector, ranking.vectors.values[first:])
        later = np.arange(first, first + len(cosines))
        smoothed = ranking.smoothing.subset(later).smooth(cosines)
        return np.concatenate([indexed, first + _top_positions(smoothed, k)])


class _Neighborhood:
    """Some units together with the neighbors that smoothing needs.

    Attributes:
        positions: of the units and their neighbors, ascending.
        smoothing: over these positions.
        units: indices of the units in ``positions``.
    """

    def __init__(self, smoothing: NeighborSmoothing, units: Positions, n: int) -> None:
        reach = smoothing.reach
        mask = np.zeros(n + 2 * reach, bool)  # padded on both sides
        for shift in range(2 * reach + 1):
            mask[units + shift] = True
        self.positions = np.flatnonzero(mask[reach : reach + n])
        self.smoothing = smoothing.subset(self.positions)
        self.units = np.searchsorted(self.positions, units)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Standardizes scores to mean 0 and deviation 1 over all units."""

    mean: float
    deviation: float

    def __call__(self, scores: Scores) -> Scores:
        if self.deviation <= 1e-9:
            return np.zeros_like(scores)
        return (scores - np.float32(self.mean)) / np.float32(self.deviation)


def _scale_of(scores: Scores) -> _Scale:
    return _Scale(float(scores.mean()), float(scores.std())) if len(scores) else _Scale(0, 0)


class _DenseSample:
    """Evenly spaced units, from which mean and deviation of the dense scores are estimated."""

    def __init__(self, ranking: Ranking) -> None:
        self.ranking_size = n = len(ranking)
        self._dense = ranking.dense
        units = np.arange(n)
        if n > SAMPLE_SIZE:
            starts = _evenly_spaced(n - SAMPLE_RUN, SAMPLE_SIZE // SAMPLE_RUN)
            units = np.unique((starts[:, None] + np.arange(SAMPLE_RUN)).ravel())
        self._context = _Neighborhood(ranking.smoothing, units, n)
        self._rows = ranking.vectors.values[self._context.positions]
        self._norms = ranking.dense.norms(self._rows)

    def standardize(
        self, query: Query, cosines: Scores, context: _Neighborhood
    ) -> tuple[Scores, Scores]:
        """Return the standardized cosines of the context's units, alone and smoothed."""
        sample = self._dense.score_rows(query.vector, self._rows, self._norms)
        scale = _scale_of(sample[self._context.units])
        sample, cosines = scale(sample), scale(cosines)
        smoothed = context.smoothing.smooth(cosines)[context.units]
        scale = _scale_of(self._context.smoothing.smooth(sample)[self._context.units])
        return cosines[context.units], scale(smoothed)


class _TermScorer:
    """Lexical scores of a query: upper bounds for all units, exact scores for some.

    Attributes:
        bounds: sum of the rarer terms' scores in each unit and its neighbors, ``(n,)``; the exact
            score, a noisy-or, is at most that. Good enough to select candidates.
        scale: standardizes lexical scores.
    """

    def __init__(self, ranking: Ranking, query: Query) -> None:
        self._smoothing, self._n, self._lexical = ranking.smoothing, len(ranking), ranking.lexical
        postings = self._lexical.postings(ranking.query_terms(query))
        # Terms that nearly all units contain do not discriminate.
        self._postings = [each for each in postings if each.idf > postings[0].idf / 1_000]
        # The rarer terms, whose postings together cover at most half of the units, are scored for
        # all units; the others are looked up where needed.
        total = np.cumsum([len(posting.documents) for posting in self._postings])
        self._rare = max(1, int((total <= self._n / 2).sum()))
        self._saturations: list[Scores] = []
        sums = np.zeros(self._n, np.float32)
        for posting in self._postings[: self._rare]:
            saturation = self._lexical.tf_saturation(posting.documents, posting.counts)
            self._saturations.append(saturation)
            sums[posting.documents] += posting.idf * saturation
        self._scratch = np.zeros(self._n, np.float32)
        self.bounds = self._smoothing.smooth(sums)
        self.scale = self._estimate_scale()

    def scores(self, context: _Neighborhood) -> Scores:
        """Return the exact lexical scores of the context's units, before standardization."""
        saturations = np.zeros((len(self._postings), len(context.positions)), np.float32)
        for row, posting in enumerate(self._postings):
            if row < self._rare:
                self._scratch[posting.documents] = self._saturations[row]
                saturations[row] = self._scratch[context.positions]
                self._scratch[posting.documents] = 0
            else:
                saturations[row] = self._look_up(posting, context.positions)
        combined: Matrix = context.smoothing.noisy_or(saturations)[:, context.units]
        idf = np.array([posting.idf for posting in self._postings], np.float32)
        return np.asarray(np.einsum("t,tn->n", idf, combined), np.float32)

    def _look_up(self, posting: Posting, positions: Positions) -> Scores:
        """Return the saturations of a frequent term at some positions."""
        at = np.minimum(np.searchsorted(posting.documents, positions), len(posting.documents) - 1)
        matches = posting.documents[at] == positions
        documents, counts = posting.documents[at[matches]], posting.counts[at[matches]]
        saturations = np.zeros(len(positions), np.float32)
        saturations[matches] = self._lexical.tf_saturation(documents, counts)
        return saturations

    def _estimate_scale(self) -> _Scale:
        """Estimate mean and deviation of the scores from units with and without a rare term."""
        count = int(np.count_nonzero(self.bounds))
        sample = _evenly_spaced(self._n, min(self._n, WORD_SAMPLE_SIZE * self._n // max(count, 1)))
        with_rare = self.bounds[sample] > 0
        mean, square = (
            count / self._n * self._moments(sample[with_rare], self.bounds[self.bounds > 0])
        )
        if self._rare < len(self._postings):
            without_rare = sample[~with_rare]
            without_rare = without_rare[_evenly_spaced(len(without_rare), WORD_SAMPLE_SIZE)]
            moments = (1 - count / self._n) * self._moments(without_rare)
            mean, square = mean + moments[0], square + moments[1]
        return _Scale(mean, float(np.sqrt(max(square - mean * mean, 0))))

    def _moments(self, units: Positions, all_bounds: Scores | None = None) -> NDArray[np.float64]:
        """Return mean and mean square of the scores of sampled units.

        ``all_bounds`` are the bounds of the whole population, by which the sample is corrected.
        """
        if not len(units) or not self._postings:
            return np.zeros(2)
        context = _Neighborhood(self._smoothing, units, self._n)
        scores = self.scores(context).astype(np.float64)
        moments = np.array([scores.mean(), scores @ scores / len(scores)])
        if all_bounds is not None:
            bounds = self.bounds[units].astype(np.float64)
            moments[0] *= all_bounds.mean(dtype=np.float64) / bounds.mean()
            moments[1] *= float(all_bounds @ all_bounds) / len(all_bounds)
            moments[1] /= bounds @ bounds / len(bounds)
        return moments


def _evenly_spaced(n: int, count: int) -> Positions:
    """Return up to ``count`` of ``n`` positions, evenly spaced."""
    return np.arange(n) if n <= count else np.linspace(0, n - 1, count).astype(np.int64)


def _top_positions(scores: Scores, k: int) -> Positions:
    """Return the positions of the ``k`` highest scores, unordered."""
    if k >= len(scores):
        return np.arange(len(scores))
    # A threshold from a sample excludes nearly all low scores in a tenth of the time.
    sample = scores[:: max(1, len(scores) // SAMPLE_SIZE // 4)]
    last = len(sample) - min(2 * k * len(sample) // len(scores) + 8, len(sample))
    high = np.flatnonzero(scores >= np.partition(sample, last)[last])
    if len(high) < k:
        high = np.arange(len(scores))
    return high[np.argpartition(scores[high], -k)[-k:]]
