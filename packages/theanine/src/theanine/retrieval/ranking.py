"""Rank all units of a scope for a question: a sum of a few kinds of evidence, none of them costly.

The weights were fitted (a listwise softmax over two kinds of conversations: chats between friends
and long chats with an assistant; leave-one-conversation-out) and rounded. One setting serves both.
Pseudo-relevance feedback, character n-grams, word bigrams, sentence vectors, soft term matching,
diversity over sessions and further principal components were tried and did not help beside these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import e

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.base import Vectors
from theanine.retrieval.dense import DenseScorer
from theanine.retrieval.lexical import BM25Index, tokenize
from theanine.retrieval.neighbors import NeighborSmoothing, Positions
from theanine.retrieval.query import Query, SpeakerNames, is_standing_instruction, speaks_of_asker
from theanine.retrieval.rows import GrowingArray
from theanine.retrieval.scoring import Scores, standardize
from theanine.retrieval.temporal import find_date_ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingConfig:
    """Weights of the parts; 0 turns one off. Dense and lexical scores have mean 0, deviation 1.

    Attributes:
        dense: of the centred cosine.
        lexical: of the words that a unit or its neighbours share with the question.
        reach: neighbours on either side that lend weight; 0 looks at each unit alone.
        fade: words (without stop words) between two units' middles after which a neighbour's
            weight has fallen to 1/e.
        ahead: what share of its weight a later unit lends to an earlier one.
        speaker: for units of the one speaker whom the question names; taken off all others.
        asker: for the asker's own units, where the question says "I"; taken off all others.
        standing: for the asker's lasting instructions and preferences, as far as they fit.
        date: for units said on the days that the question names; less before and after them.
        substance: for each unit of the logarithm of its words, up to 15 of them.
        exact_upto: units in one scope up to which each is looked at; above that, with the extra
            ``ann``, only candidates are (see :mod:`theanine.retrieval.ann.search`).
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
    exact_upto: int = 50_000


MAX_LENGTH = 15
"""Words from which a unit is worth no more for being longer."""
DAYS_AFTER, DAYS_BEFORE = 7.0, 3.0
"""Days in which the weight of a named day falls to 1/e: people tell of what has happened."""
UNNAMED_ASKER = "user"
"""Whose words "I" stands for where the asker has none under the asker's own name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What is ranked: a turn, a memory, an exchange.

    Attributes:
        text: the words.
        session: the number of its session; units arrive in order, a session's one after another.
        at: when it was said, or None when that is not known.
        speakers: who said it or whom it is about.
        turn: the number of the (first) turn that it stands for, or 0 when that is not known: turns
            of a session that no unit stands for part its neighbours.
    """

    text: str
    session: int
    at: datetime | None = None
    speakers: tuple[str, ...] = ()
    turn: int = 0


class Ranking:
    """Units that keep arriving, ready to be ranked; none is looked at twice."""

    def __init__(self, config: RankingConfig | None = None) -> None:
        self.config = config or RankingConfig()
        self.lexical = BM25Index()
        self.dense = DenseScorer()
        self.smoothing = NeighborSmoothing(self.config.reach, self.config.fade, self.config.ahead)
        self._names = SpeakerNames()
        self._groups: dict[tuple[str, ...], int] = {}
        self._group_of: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._days: GrowingArray[np.float32] = GrowingArray(np.float32)
        self._substance: GrowingArray[np.float32] = GrowingArray(np.float32)
        self._standing: GrowingArray[np.bool_] = GrowingArray(np.bool_)
        self._years: set[int] = set()

    def __len__(self) -> int:
        return len(self.lexical)

    @property
    def vectors(self) -> GrowingArray[np.float32]:
        """The units' vectors, ``(n, d)``."""
        return self.dense.vectors

    def extend(self, units: Sequence[Unit], vectors: Vectors) -> None:
        """Take in more units with their vectors, ``(n, d)``, unit norm."""
        if not units:
            return
        lengths = np.array([self.lexical.add(unit.text) for unit in units], np.int64)
        self.dense.extend(np.asarray(vectors, np.float32))
        sessions = np.array([unit.session for unit in units], np.int64)
        self.smoothing.extend(sessions, lengths, np.array([unit.turn for unit in units], np.int64))
        self._substance.extend(np.log1p(np.minimum(lengths, MAX_LENGTH)))
        self._standing.extend([is_standing_instruction(unit.text) for unit in units])
        self._days.extend([unit.at.toordinal() if unit.at else np.nan for unit in units])
        self._years.update(unit.at.year for unit in units if unit.at)
        for unit in units:
            self._names.add(unit.speakers)
            self._groups.setdefault(unit.speakers, len(self._groups))
        self._group_of.extend([self._groups[unit.speakers] for unit in units])

    def without_speakers(self, text: str) -> str:
        """A question without the names of those who speak here: what its vector should be of.

        A static embedder lets a name outweigh the subject, and who is meant counts by itself.
        """
        return self._names.remove_from(text)

    def scores(self, query: Query) -> Scores:
        """How well each unit fits, higher is better; no fixed scale."""
        dense = standardize(self.dense.scores(np.asarray(query.vector, np.float32)))
        shared = standardize(self.smoothing.smooth(dense))
        return self.combine(query, dense, shared, standardize(self._found(query)))

    def combine(
        self,
        query: Query,
        dense: Scores,
        shared: Scores,
        found: Scores,
        at: Positions | None = None,
    ) -> Scores:
        """The sum of all evidence, for all units or for those ``at`` some places.

        Each on one scale: the units' own cosines, those with their neighbours', and the words.
        """
        config, said = self.config, query.cue
        some = slice(None) if at is None else at
        out = config.substance * self._substance.values[some]
        out += config.dense * shared
        out += config.lexical * found
        named = self._names.find(said)
        if len(named) == 1:
            out += config.speaker * self._balance(next(iter(named)), some)
        if asker := self._asker(query.asker):
            own = self._balance(asker, some)
            if speaks_of_asker(said):
                out += config.asker * own
            lasting = np.flatnonzero(self._standing.values[some] & (own > 0))
            out[lasting] += config.standing * np.clip(dense[lasting] + 1, 0, 2)
        if days := self._on(said, query.asked_at):
            out += config.date * self._near(days, some)
        return out

    def date_mask(self, query: Query) -> NDArray[np.bool_] | None:
        """Which units were said on or about the days that a query names; None if it names none."""
        days = self._on(query.cue, query.asked_at) if self.config.date else []
        return self._near(days, slice(None)) > 1 / e if days else None

    def query_terms(self, query: Query) -> list[str]:
        """The terms that are looked for: those of the question without speakers' names."""
        return tokenize(self._names.remove_from(query.text))

    def _found(self, query: Query) -> Scores:
        """The weight of the words that are found in each unit or beside it."""
        chances, weights = self.lexical.saturations(self.query_terms(query))
        return np.asarray(
            np.einsum("t,tn->n", weights, self.smoothing.noisy_or(chances)), np.float32
        )

    def _asker(self, asker: str) -> str:
        """The asker's name among the speakers, or empty."""
        known = {name.casefold(): name for group in self._groups for name in group}
        return known.get(asker.casefold()) or known.get(UNNAMED_ASKER, "") if asker else ""

    def _balance(self, speaker: str, some: slice | Positions) -> Scores:
        """1 for the units of a speaker alone, -1 for those of others, between where shared."""
        shares = [
            group.count(speaker) / len(group) * 2 - 1 if group else 0 for group in self._groups
        ]
        return np.array(shares, np.float32)[self._group_of.values[some]]

    def _on(self, said: str, asked_at: datetime | None) -> list[tuple[int, int]]:
        today = asked_at.date() if asked_at else None
        found = find_date_ranges(said, sorted(self._years), today)
        return [(start.toordinal(), end.toordinal()) for start, end in found]

    def _near(self, days: Sequence[tuple[int, int]], some: slice | Positions) -> Scores:
        """1 on the days, falling before and after them; 0 where a unit's day is not known."""
        at: NDArray[np.float32] = self._days.values[some]
        best = np.zeros(len(at), np.float32)
        for start, end in days:
            away = np.maximum((start - at) / DAYS_BEFORE, (at - end) / DAYS_AFTER)
            best = np.fmax(best, np.exp(-np.maximum(away, 0)))
        return best
