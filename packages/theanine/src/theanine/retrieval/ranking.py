"""Rank all units of a scope for a query by a weighted sum of evidence.

The weights were fitted with a listwise softmax over two kinds of conversations, chats between
friends and long chats with an assistant, leaving one conversation out at a time, and then rounded.
One setting serves both. Pseudo-relevance feedback, character n-grams, word bigrams, sentence
vectors, soft term matching, diversity over sessions and further principal components were tried and
did not improve on these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.base import Vectors
from theanine.retrieval.dense import DenseScorer
from theanine.retrieval.growing_array import GrowingArray, array_state, restore_arrays
from theanine.retrieval.languages import split_words
from theanine.retrieval.lexical import BM25Index, tokenize
from theanine.retrieval.neighbors import NeighborSmoothing, Positions
from theanine.retrieval.query import Query, SpeakerNames, is_standing_instruction, speaks_of_asker
from theanine.retrieval.scoring import Scores, standardize, top_k
from theanine.retrieval.temporal import find_date_ranges
from theanine.retrieval.word_rows import FIRST, WordRows


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingConfig:
    """Weights of the kinds of evidence; 0 turns one off.

    Dense and lexical scores are standardized to mean 0 and deviation 1 before they are weighted.

    Attributes:
        dense: centered cosine, with neighbor smoothing.
        lexical: query terms that occur in a unit or its neighbors.
        reach: neighbors on either side that take part; 0 scores each unit alone.
        fade: words (without stop words) between the middles of two units after which a neighbor's
            weight has fallen to 1/e.
        ahead: share of its weight that a later unit lends to an earlier one.
        speaker: for units of the only speaker named in the query; subtracted from all others.
        asker: for the asker's own units, if the query says "I"; subtracted from all others.
        standing: for the asker's lasting instructions and preferences, in proportion to their
            relevance.
        date: for units from the days named in the query; less for days before and after.
        substance: times the logarithm of a unit's words, up to 15 of them.
    """

    dense: float = 0.8
    lexical: float = 0.6
    reach: int = 3
    fade: float = 30.0
    ahead: float = 0.7
    speaker: float = 0.55
    asker: float = 1.4
    standing: float = 1.1
    date: float = 4.7
    substance: float = 2.2


MAX_LENGTH = 15
"""Words above which a longer unit scores no higher for its length."""
DAYS_AFTER, DAYS_BEFORE = 7.0, 3.0
"""Days after and before a named day in which its weight falls to 1/e: talk follows events."""
DEFAULT_ASKER = "user"
"""Speaker to whom "I" refers if the asker has no units under their own name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What is ranked: a turn, a memory, an exchange.

    Attributes:
        session: session number; units are added in order, session by session.
        at: its time, or None if unknown.
        speakers: who said it, or whom it is about.
        turn: number of its (first) turn, 0 if unknown; turns without a unit count as distance
            between neighbors.
    """

    text: str
    session: int
    at: datetime | None = None
    speakers: tuple[str, ...] = ()
    turn: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Why units score as they do for a query, before they are weighted.

    Attributes:
        words: the query's content words without speaker names, each with its term.
        total: the weighted sum of all evidence, ``(n,)``.
        cosine: centered cosine of each unit alone, ``(n,)``, -1 to 1.
        smoothed: standardized centered cosine with neighbors, ``(n,)``.
        lexical: query terms that occur in a unit or its neighbors, weighted by idf, ``(n,)``.
        saturations: BM25 saturation of each query term that is indexed, ``(t, n)``.
        idf: inverse document frequency of these terms, ``(t,)``.
    """

    words: Sequence[tuple[str, str]]
    total: Scores
    cosine: Scores
    smoothed: Scores
    lexical: Scores
    saturations: NDArray[np.float32]
    idf: NDArray[np.float32]


ASSOCIATION_DENSE, ASSOCIATION_LEXICAL, ASSOCIATION_SPEAKER = 0.5, 0.8, 0.8
"""Weights of :meth:`Ranking.associations`; a unit's substance counts 1."""
ASSOCIATION_CANDIDATES, ASSOCIATION_RANKED = 400, 100
"""Units that it scores where there are more than :data:`FIRST`: about those that share the rarest
terms, and of these the best by all but their vectors."""


class Ranking:
    """Units that are added over time, and their scores for a query."""

    def __init__(self, config: RankingConfig | None = None) -> None:
        self.config = config or RankingConfig()
        self.lexical = BM25Index()
        self.dense = DenseScorer()
        self.smoothing = NeighborSmoothing(self.config.reach, self.config.fade, self.config.ahead)
        self._names = SpeakerNames()
        # Each distinct tuple of speakers has a number, by which the units refer to it.
        self._speaker_groups: dict[tuple[str, ...], int] = {}
        self._group_numbers: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._days: GrowingArray[np.float32] = GrowingArray(np.float32)  # ordinals; NaN if unknown
        self._substance: GrowingArray[np.float32] = GrowingArray(np.float32)
        self._standing: GrowingArray[np.bool_] = GrowingArray(np.bool_)
        self._years: set[int] = set()

    def __len__(self) -> int:
        return len(self.lexical)

    @property
    def vectors(self) -> GrowingArray[np.float32]:
        """The units' vectors, ``(n, d)``."""
        return self.dense.vectors

    @property
    def standing(self) -> NDArray[np.bool_]:
        """Whether each unit states a lasting instruction or preference."""
        return self._standing.values

    @property
    def days(self) -> NDArray[np.float32]:
        """Day of each unit as an ordinal; NaN if it is unknown."""
        return self._days.values

    @property
    def years(self) -> frozenset[int]:
        """The years in which units are."""
        return frozenset(self._years)

    @property
    def speaker_groups(self) -> NDArray[np.int64]:
        """Number of each unit's tuple of speakers; equal tuples have the same."""
        return self._group_numbers.values

    def extend(self, units: Sequence[Unit], vectors: Vectors) -> None:
        """Add units with their vectors, ``(n, d)``, unit norm."""
        self.dense.extend(np.asarray(vectors, np.float32))
        self.extend_units(units)

    def extend_units(self, units: Sequence[Unit]) -> None:
        """Add units whose vectors were added to ``dense`` already."""
        if not units:
            return
        lengths = np.array([self.lexical.add(unit.text) for unit in units], np.int64)
        sessions = np.array([unit.session for unit in units], np.int64)
        self.smoothing.extend(sessions, lengths, np.array([unit.turn for unit in units], np.int64))
        self._substance.extend(np.log1p(np.minimum(lengths, MAX_LENGTH)))
        self._standing.extend([is_standing_instruction(unit.text) for unit in units])
        self._days.extend([unit.at.toordinal() if unit.at else np.nan for unit in units])
        self._years.update(unit.at.year for unit in units if unit.at)
        for unit in units:
            self._names.add(unit.speakers)
            self._speaker_groups.setdefault(unit.speakers, len(self._speaker_groups))
        self._group_numbers.extend([self._speaker_groups[unit.speakers] for unit in units])

    def state(self) -> dict[str, Any]:
        """Return all that :meth:`restore` needs."""
        return array_state(self) | {
            "lexical": self.lexical.state(),
            "dense": self.dense.state(),
            "smoothing": self.smoothing.state(),
            "speaker_groups": [list(group) for group in self._speaker_groups],
            "years": sorted(self._years),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over the state of a ranking with the same configuration; this one must be empty."""
        restore_arrays(self, state)
        self.lexical.restore(state["lexical"])
        self.dense.restore(state["dense"])
        self.smoothing.restore(state["smoothing"])
        for group in map(tuple, state["speaker_groups"]):
            self._names.add(group)
            self._speaker_groups[group] = len(self._speaker_groups)
        self._years = set(state["years"])

    def without_speakers(self, text: str) -> str:
        """Remove the speakers' names from a query before it is embedded.

        A static embedder lets a name outweigh the subject, and speakers are scored separately.
        """
        return self._names.remove_from(text)

    def _query_words(self, query: Query) -> list[tuple[str, str]]:
        return [*split_words(self._names.remove_from(query.text))]

    def scores(self, query: Query) -> Scores:
        """Score every unit; higher is better, no fixed scale."""
        return self.evidence(query).total

    def evidence(self, query: Query) -> Evidence:
        """Score every unit, and return the evidence of its score."""
        cosine = self.dense.scores(np.asarray(query.vector, np.float32))
        dense = standardize(cosine)
        smoothed = standardize(self.smoothing.smooth(dense))
        words = self._query_words(query)
        saturations, idf = self.lexical.saturations([term for _, term in words])
        # A term counts for a unit if it occurs in the unit or in a neighbor.
        lexical = np.asarray(
            np.einsum("t,tn->n", idf, self.smoothing.noisy_or(saturations)), np.float32
        )
        return Evidence(
            words=words,
            total=self._combine(
                query, dense=dense, smoothed=smoothed, lexical=standardize(lexical)
            ),
            cosine=cosine,
            smoothed=smoothed,
            lexical=lexical,
            saturations=saturations,
            idf=idf,
        )

    def associations(
        self, texts: Sequence[str], speakers: Sequence[tuple[str, ...]], words: WordRows
    ) -> list[tuple[Positions, Scores]]:
        """Score units as earlier mentions of what each of some new ones tells; higher is better.

        Returns for each the positions of the units, ascending, and their scores, without a fixed
        scale. In a large index, these are only units that share one of the rarest terms.

        Terms count by the square of their idf: two texts that share one rare word are more often
        about the same matter than two that share several common ones.

        Args:
            texts, speakers: those of the new ones.
            words: the word vectors of the units.
        """
        if not texts:
            return []
        n = len(self)
        exact = n <= FIRST
        limit = None if exact else ASSOCIATION_CANDIDATES
        postings = [
            self.lexical.postings(tokenize(self._names.remove_from(text)), limit) for text in texts
        ]
        flat = list(chain.from_iterable(postings))
        documents = np.concatenate([np.zeros(0, np.int32), *(p.documents for p in flat)])
        counts = np.concatenate([np.zeros(0, np.int32), *(p.counts for p in flat)])
        squares = np.repeat([p.idf**2 for p in flat], [len(p.documents) for p in flat])
        weights = squares * self.lexical.tf_saturation(documents, counts)
        ends = np.cumsum([sum(len(p.documents) for p in own) for own in postings])
        scorer = words.scorer(n)
        newest = words.rows(np.arange(n - ASSOCIATION_RANKED, n)) if not exact else None
        result: list[tuple[Positions, Scores]] = []
        for vector, speaking, own, weight in zip(
            words.vectors(texts),
            speakers,
            np.split(documents, ends[:-1]),
            np.split(weights, ends[:-1]),
            strict=True,
        ):
            if exact:
                positions: Positions = np.arange(n)
            else:
                positions, own = np.unique(own.astype(np.int64), return_inverse=True)
            lexical = np.bincount(own, weight, len(positions))
            total = self._substance.values[positions]
            total += ASSOCIATION_LEXICAL * lexical / _deviation(lexical, n)
            if (group := self._speaker_groups.get(speaking)) is not None:
                total += ASSOCIATION_SPEAKER * (self._group_numbers.values[positions] == group)
            if newest is None:
                sample = dense = scorer.scores(vector)
            else:
                best = np.sort(top_k(total, positions, ASSOCIATION_RANKED))
                positions, total = positions[best], total[best]
                dense = scorer.score_rows(vector, words.rows(positions))
                sample = scorer.score_rows(vector, newest)
            total += ASSOCIATION_DENSE * dense / _deviation(sample, len(sample))
            result.append((positions, total))
        return result

    def _combine(self, query: Query, *, dense: Scores, smoothed: Scores, lexical: Scores) -> Scores:
        """Return the weighted sum of all evidence of every unit.

        Args:
            dense, smoothed, lexical: standardized scores: cosines alone, cosines after neighbor
                smoothing, and terms.
        """
        config, every = self.config, slice(None)
        total = config.substance * self._substance.values
        total += config.dense * smoothed
        total += config.lexical * lexical
        named = self._names.find(query.cue)
        if len(named) == 1:
            total += config.speaker * self._speaker_scores(next(iter(named)), every)
        if asker := self._find_asker(query.asker):
            of_asker = self._speaker_scores(asker, every)
            if speaks_of_asker(query.cue):
                total += config.asker * of_asker
            standing = np.flatnonzero(self._standing.values & (of_asker > 0))
            total[standing] += config.standing * np.clip(dense[standing] + 1, 0, 2)
        if ranges := self._date_ranges(query):
            total += config.date * self._date_scores(ranges, every)
        return total

    def cues(self, query: Query, at: Positions) -> NDArray[np.float32]:
        """Return what the query says besides its subject, for some units: ``(5, m)``.

        The rows are: whether the unit is by the only speaker named, the number of speakers named,
        whether it is the asker's where the query says "I", how close it is to the days named, and
        whether any are.
        """
        cues = np.zeros((5, len(at)), np.float32)
        named = self._names.find(query.cue)
        if len(named) == 1:
            cues[0] = self._speaker_scores(next(iter(named)), at)
        cues[1] = len(named)
        if speaks_of_asker(query.cue) and (asker := self._find_asker(query.asker)):
            cues[2] = self._speaker_scores(asker, at)
        if ranges := self._date_ranges(query):
            cues[3] = self._date_scores(ranges, at)
            cues[4] = 1
        return cues

    def _find_asker(self, asker: str) -> str:
        """Return the asker's name among the speakers, or an empty string."""
        if not asker:
            return ""
        names = {name.casefold(): name for group in self._speaker_groups for name in group}
        return names.get(asker.casefold()) or names.get(DEFAULT_ASKER, "")

    def speakers_named(self, text: str) -> frozenset[str]:
        """Return the speakers who are named in a text."""
        return self._names.find(text)

    def is_by(self, speaker: str, at: Positions) -> NDArray[np.bool_]:
        """Return whether each of some units is by a speaker alone."""
        return self._speaker_scores(speaker, at) == 1

    def _speaker_scores(self, speaker: str, selected: slice | Positions) -> Scores:
        """Return 1 for the speaker's own units, -1 for others', between for shared ones."""
        shares = [
            group.count(speaker) / len(group) * 2 - 1 if group else 0
            for group in self._speaker_groups
        ]
        return np.array(shares, np.float32)[self._group_numbers.values[selected]]

    def _date_ranges(self, query: Query) -> list[tuple[int, int]]:
        """Return first and last days, as ordinals, of the date ranges that a query names."""
        today = query.asked_at.date() if query.asked_at else None
        ranges = find_date_ranges(query.cue, sorted(self._years), today)
        return [(start.toordinal(), end.toordinal()) for start, end in ranges]

    def _date_scores(
        self, ranges: Sequence[tuple[int, int]], selected: slice | Positions
    ) -> Scores:
        """Return 1 within the ranges, decaying before and after; 0 for units of unknown date."""
        days: NDArray[np.float32] = self._days.values[selected]
        scores = np.zeros(len(days), np.float32)
        for start, end in ranges:
            distance = np.maximum((start - days) / DAYS_BEFORE, (days - end) / DAYS_AFTER)
            scores = np.fmax(scores, np.exp(-np.maximum(distance, 0)))
        return scores


def _deviation(scores: NDArray[Any], count: int) -> float:
    """Return the standard deviation of ``count`` scores, of which all others are 0.

    Infinite if they don't differ, so that they count nothing when they are divided by it.
    """
    if not count:
        return inf
    mean, squares = float(scores.sum()) / count, float(np.vecdot(scores, scores)) / count
    variance = squares - mean**2
    return sqrt(variance) if variance > 1e-12 * squares else inf
