"""Ranks by candidates, where a scope has too many units to look at each.

Candidates are the units that an index of their vectors, taken together with their neighbours',
puts first, and those that all other evidence puts first. They get the very scores that
:class:`Ranking` gives them, but for the scale of cosines and words, which is taken from samples.
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
"""Candidates by vectors in a scope of 50,000; more, with the square root, in larger ones."""
OTHER_CANDIDATES = 1_000
"""Candidates by everything else."""
MAX_RESULTS = 100
"""Units that may be asked for; for more of them each unit is looked at."""
MAX_FULL_SCAN = 20_000
"""Units that are all candidates where a mask or a day leaves no more."""
MAX_WIDENING = 5
"""How many times as many the index may be asked for where a mask or a day leaves some out."""
SAMPLE_SIZE = 8_192
"""Units from which the spread of the cosines is told, to about a hundredth."""
SAMPLE_RUN = 8
"""Of them, so many one after another, which share their neighbours."""
WORD_SAMPLE_SIZE = 1_024
"""The same for the words, of which rough sums are known for all units."""

Mask = NDArray[np.bool_]


def window_bounds(
    ranking: Ranking, mean: NDArray[np.float32], start: int, stop: int
) -> NDArray[np.float32]:
    """What the index holds of some units, ``(stop - start, d)``: the sum that lends them weight.

    Its inner product with a direction is the sum of the centred cosines of the unit and, by
    nearness, its neighbours. ``mean`` is what is taken out.
    """
    reach = ranking.smoothing.reach
    first, last = max(start - reach, 0), stop + reach
    rows = ranking.vectors.values[first:last] - mean
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-3)
    places = np.arange(first, first + len(rows))
    shared = ranking.smoothing.subset(places).smooth(np.ascontiguousarray(rows.T))
    return np.ascontiguousarray(shared[:, start - first : stop - first].T)


class ApproximateSearch:
    """Finds in a ranking by means of an index over the first of its units, later ones by hand."""

    def __init__(self, ranking: Ranking, few: int = MAX_FULL_SCAN) -> None:
        self.ranking, self._few = ranking, few
        self.index: VectorIndex | None = None
        self._sample: _Sample | None = None

    def applies(self, k: int) -> bool:
        """Whether there is an index, units enough to need it, and candidates enough for ``k``."""
        enough = len(self.ranking) > self.ranking.config.exact_upto and k <= MAX_RESULTS
        return enough and self.index is not None

    def nearest(self, query: Query, wider: float = 1) -> Positions:
        """The candidates by vectors, taken together with their neighbours', in no order.

        About the best of what the index has, and the best of what it does not have yet; ``wider``
        times as many as usual.
        """
        ranking, index = self.ranking, self.index
        assert index is not None
        k = int(wider * DENSE_CANDIDATES * max(len(ranking) / 50_000, 1) ** 0.5)
        found = index.nearest(ranking.dense.center(query.vector), k)
        first = max(index.rows - ranking.smoothing.reach, 0)
        cosines = ranking.dense.score_rows(query.vector, ranking.vectors.values[first:])
        later = np.arange(first, first + len(cosines))
        shared = ranking.smoothing.subset(later).smooth(cosines)
        return np.concatenate([found, first + _top(shared, k)])

    def scores(self, query: Query, among: Mask | None = None) -> tuple[Positions, Scores]:
        """Units among which are those that fit best, ascending, and how well each fits.

        ``among`` masks what may be found, ``(n,)``.
        """
        ranking, n = self.ranking, len(self.ranking)
        words = _Words(ranking, query)
        places = np.unique(np.concatenate(list(self._candidates(query, words, among))))
        if among is not None:
            places = places[among[places]]
        around = _Around(ranking.smoothing, places, n)
        cosines = ranking.dense.score_rows(query.vector, ranking.vectors.values[around.places])
        dense, shared = self._sampled().standard(query, cosines, around)
        found = words.standard(words.either(around))
        return places, ranking.combine(query, dense, shared, found, at=places)

    def _candidates(self, query: Query, words: _Words, among: Mask | None) -> Iterator[Positions]:
        n, wider = len(self.ranking), 1.0
        for some in (among, self.ranking.date_mask(query)):
            if some is None:
                continue
            count = np.count_nonzero(some)
            if count <= self._few:
                yield np.flatnonzero(some)
            wider = max(wider, min(n / max(count, 1), MAX_WIDENING))
        if among is None or np.count_nonzero(among) > self._few:
            yield self.nearest(query, wider)
            yield self._likely(query, words, int(OTHER_CANDIDATES * wider), among)

    def _likely(self, query: Query, words: _Words, k: int, among: Mask | None) -> Positions:
        """The best by all evidence but vectors; neighbours' words are added up, not combined."""
        none = np.broadcast_to(np.float32(0), len(self.ranking))
        prior = self.ranking.combine(query, none, none, words.standard(words.sums))
        if among is not None:
            prior[~among] = -np.inf
        return _top(prior, k)

    def _sampled(self) -> _Sample:
        """Kept until the scope has grown by a fiftieth."""
        known, n = self._sample, len(self.ranking)
        if known is None or n > known.units * 1.02:
            known = self._sample = _Sample(self.ranking)
        return known


class _Around:
    """Some units, ascending, beside the neighbours that lend them weight."""

    def __init__(self, windows: NeighborSmoothing, units: Positions, n: int) -> None:
        self.places = _spread(units, windows.reach, n)
        self.windows = windows.subset(self.places)
        self.units = np.searchsorted(self.places, units)


class _Sample:
    """Evenly spread units and their vectors, for the mean and the spread of cosines."""

    def __init__(self, ranking: Ranking) -> None:
        self.units = len(ranking)
        self._dense = ranking.dense
        units = np.arange(self.units)
        if self.units > SAMPLE_SIZE:
            units = (
                _even(self.units - SAMPLE_RUN, SAMPLE_SIZE // SAMPLE_RUN)[:, None]
                + np.arange(SAMPLE_RUN)
            ).ravel()
            units = np.unique(units)
        self._around = _Around(ranking.smoothing, units, self.units)
        self._rows = ranking.vectors.values[self._around.places]
        self._lengths = ranking.dense.norms(self._rows)

    def standard(self, query: Query, cosines: Scores, around: _Around) -> tuple[Scores, Scores]:
        """The units' own cosines and those with their neighbours' on the scale of all units."""
        mine = self._dense.score_rows(query.vector, self._rows, self._lengths)
        scale = _Scale.of(mine[self._around.units])
        mine, cosines = scale(mine), scale(cosines)
        shared = around.windows.smooth(cosines)[around.units]
        scale = _Scale.of(self._around.windows.smooth(mine)[self._around.units])
        return cosines[around.units], scale(shared)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Brings scores to mean 0 and deviation 1 over all units."""

    mean: float
    spread: float

    @classmethod
    def of(cls, scores: Scores) -> _Scale:
        return cls(float(scores.mean()), float(scores.std())) if len(scores) else cls(0, 0)

    def __call__(self, scores: Scores) -> Scores:
        if self.spread <= 1e-9:
            return np.zeros_like(scores)
        return (scores - np.float32(self.mean)) / np.float32(self.spread)


class _Words:
    """The words of a question, in all units roughly and in some exactly.

    ``sums`` adds up what the rarest terms weigh in each unit and its neighbours: more than they
    weigh together, and good enough to choose candidates by.
    """

    def __init__(self, ranking: Ranking, query: Query) -> None:
        self._windows, self._n, self._lexical = ranking.smoothing, len(ranking), ranking.lexical
        found = self._lexical.postings(ranking.query_terms(query))
        # What all units have tells none from another: a thousandth of the rarest term's weight.
        self._postings = [one for one in found if one.weight > found[0].weight / 1_000]
        self._scratch = np.zeros(self._n, np.float32)
        total = np.cumsum([len(posting.documents) for posting in self._postings])
        self._rare = max(1, int((total <= self._n / 2).sum()))  # all but what nearly all have
        sums = np.zeros(self._n, np.float32)
        self._chances: list[Scores] = []
        for posting in self._postings[: self._rare]:
            self._chances.append(self._lexical.tf_saturation(posting.documents, posting.counts))
            sums[posting.documents] += posting.weight * self._chances[-1]
        self.sums = self._windows.smooth(sums)
        self._scale = self._measured()

    def standard(self, found: Scores) -> Scores:
        """On the scale of all units."""
        return self._scale(found)

    def either(self, around: _Around) -> Scores:
        """The weight of the words that are found in each unit or beside it."""
        chances = np.zeros((len(self._postings), len(around.places)), np.float32)
        for row, posting in enumerate(self._postings):
            if row < self._rare:
                self._scratch[posting.documents] = self._chances[row]
                chances[row] = self._scratch[around.places]
                self._scratch[posting.documents] = 0
            else:
                chances[row] = self._look_up(posting, around.places)
        either: Matrix = around.windows.noisy_or(chances)[:, around.units]
        weights = np.array([posting.weight for posting in self._postings], np.float32)
        return np.asarray(np.einsum("t,tn->n", weights, either), np.float32)

    def _look_up(self, posting: Posting, places: Positions) -> Scores:
        """How surely units have a term that so many have that they are looked up one by one."""
        at = np.minimum(np.searchsorted(posting.documents, places), len(posting.documents) - 1)
        has = posting.documents[at] == places
        row = np.zeros(len(places), np.float32)
        row[has] = self._lexical.tf_saturation(posting.documents[at[has]], posting.counts[at[has]])
        return row

    def _measured(self) -> _Scale:
        """Of the units near a rare term, by how far short of the sums they stay, and of others."""
        count = int(np.count_nonzero(self.sums))
        some = _even(self._n, min(self._n, WORD_SAMPLE_SIZE * self._n // max(count, 1)))
        near = self.sums[some] > 0
        mean, square = count / self._n * self._moments(some[near], self.sums[self.sums > 0])
        if self._rare < len(self._postings):
            others = some[~near][_even(int((~near).sum()), WORD_SAMPLE_SIZE)]
            rest = (1 - count / self._n) * self._moments(others)
            mean, square = mean + rest[0], square + rest[1]
        return _Scale(mean, float(np.sqrt(max(square - mean * mean, 0))))

    def _moments(self, units: Positions, known: Scores | None = None) -> NDArray[np.float64]:
        """Mean and mean square of what is found in units."""
        if not len(units) or not self._postings:
            return np.zeros(2)
        found = self.either(_Around(self._windows, units, self._n)).astype(np.float64)
        moments = np.array([found.mean(), found @ found / len(found)])
        if known is not None:  # what is known of all of them corrects what is known of some
            sums = self.sums[units].astype(np.float64)
            moments[0] *= known.mean(dtype=np.float64) / sums.mean()
            moments[1] *= float(known @ known) / len(known) / (sums @ sums / len(sums))
        return moments


def _even(n: int, count: int) -> Positions:
    """Up to ``count`` of ``n`` places, evenly spread."""
    return np.arange(n) if n <= count else np.linspace(0, n - 1, count).astype(np.int64)


def _spread(units: Positions, reach: int, n: int) -> Positions:
    """The units and their neighbours within reach, once each, ascending."""
    mask = np.zeros(n + 2 * reach, bool)  # with room on both sides
    for shift in range(2 * reach + 1):
        mask[units + shift] = True
    return np.flatnonzero(mask[reach : reach + n])


def _top(scores: Scores, k: int) -> Positions:
    """Places of the ``k`` highest, in no order."""
    if k >= len(scores):
        return np.arange(len(scores))
    # A sample tells nearly all to be too low, which takes a tenth of the time.
    sample = scores[:: max(1, len(scores) // SAMPLE_SIZE // 4)]
    last = len(sample) - min(2 * k * len(sample) // len(scores) + 8, len(sample))
    high = np.flatnonzero(scores >= np.partition(sample, last)[last])
    if len(high) < k:
        high = np.arange(len(scores))
    return high[np.argpartition(scores[high], -k)[-k:]]
