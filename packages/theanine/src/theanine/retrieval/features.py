"""Features of the best candidates, from which :mod:`theanine.retrieval.relevance` reranks them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theanine.retrieval import cue_words
from theanine.retrieval.growing_array import GrowingArray, array_state, restore_arrays
from theanine.retrieval.kinds import KINDS, kinds_asked, kinds_met
from theanine.retrieval.languages import (
    WORD,
    Language,
    guess_language,
    split_words,
    stem,
    without_modal,
)
from theanine.retrieval.neighbors import Positions
from theanine.retrieval.query import Query
from theanine.retrieval.ranking import Evidence, Ranking, Unit
from theanine.retrieval.scoring import distinct, matrix_product, standardize
from theanine.retrieval.word_match import UnitWords

Matrix = NDArray[np.float32]

_LIKING = (
    r"\b(?:lov(?:es?|ed|ing)|lik(?:es?|ed)|enjoy(?:s|ed)?|hat(?:es?|ed)|prefer(?:s|red)?|"
    r"favou?rite|fan|dislikes?|allergic|afraid|scared)\b"
)
_TEXT_CUES = {
    "time": r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|since|weeks?|months?|years?|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|"
    r"september|october|november|december|weekend|recently|soon|now|just)\b",
    "number": r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|few|couple|dozen|many|"
    r"several)\b",
    "greeting": r"^\W*(?:hey|hi|hello|thanks|thank you|bye|wow|cool|great|nice|awesome|congrats|"
    r"sounds)\b",
    "first person": r"\b(?:i|i['’]m|i['’]ve|my|we|our|me)\b",
    "question": r"[?？]\s*$",
    "name": r"\b(?:called?|named?|nickname)\b",
    "liking": _LIKING,
    "place": r"\b(?:in|at|from|to|near) (?:the )?(?-i:[A-Z])",
    "negation": r"\b(?:not|never|no|without|can['’]?t|cannot)\b|n['’]t\b",
    "change": r"\b(?:no longer|any ?more|instead|changed|switch(?:ed|ing)|quit|gave up|given up|"
    r"stopped|sold|became|turned into|replac(?:ed|ing)|broke up|divorced|from now on|"
    r"cancell?ed|retired|resigned|rather than|upgraded|promoted|laid off|moved|moving|"
    r"rescheduled|postponed|actually|correction|mistake|wrong|i meant|make that|"
    r"in the end|after all|turns out|these days|nowadays|back to|swapped|finally|new|"
    r"now|since then|until recently|up to|went up|raised|another)\b",
}
_QUESTION_CUES = {
    "when": r"\bwhen\b|\bwhat (?:day|date|year|month|time)\b|\bhow long\b",
    "who": r"\bwho(?:se|m)?\b",
    "where": r"\bwhere\b|\b(?:what|which) (?:country|city|place|state)\b",
    "how many": r"\bhow (?:many|much|often)\b",
    "why": r"\bwhy\b|\breason\b",
    "how": r"\bhow\b",
    "what": r"\bwhat|which\b",
    "would": r"\b(?:would|could|might|likely)\b",
    "yes or no": r"^(?:is|are|was|were|did|does|do|has|have|had|can|will)\b",
    "all": r"\border\b|\blist\b|\ball\b",
    "name": r"\b(?:name|called|call|nickname)\b",
    "liking": _LIKING,
    "first person": r"\b(?:i|me|my|mine|we|us|our)\b",
    "present": r"\b(?:now|current(?:ly)?|latest|newest|(?:most )?recent(?:ly)?|nowadays|these days|"
    r"at the moment|any ?more|still|today|up[- ]to[- ]date|so far|at present|last)\b",
    "past": r"\b(?:first|original(?:ly)?|initial(?:ly)?|earl(?:y|ier|iest)|used to|previous(?:ly)?|"
    r"former(?:ly)?|once|at first|before)\b",
}
_text_patterns = {name: re.compile(cue, re.IGNORECASE) for name, cue in _TEXT_CUES.items()}
_question_patterns = {name: re.compile(cue, re.IGNORECASE) for name, cue in _QUESTION_CUES.items()}
_CAPITALIZED = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][a-z]+")

FIXED = (
    *("length", "capitalized", "first in session", "place in turn", "passages of turn"),
    *_TEXT_CUES,
)
"""What is known of a candidate by itself: the columns of :attr:`UnitFeatures.fixed`."""
FEATURES = (
    *("score", "log rank", "gap", "cosine", "dense", "smoothed", "lexical", "own lexical"),
    *("coverage", "own coverage", "matched terms", "rarest term"),
    *("soft match", "strong soft match", "weakest soft match", "soft match nearby"),
    *("speaker", "speakers named", "asker", "date", "date named"),
    *("terms before", "terms after", "question before"),
    *FIXED,
    *(f"asks {name}" for name in _QUESTION_CUES),
    "query length",
    *("raw cosine", "words matched", "words matched nearby", "words met", "largest miss"),
    *("largest miss nearby", "matched back"),
    *("kinds asked", "kinds met"),
    *("place in log", "last session", "present place", "past place"),
    *("others nearby", "best nearby", "session share"),
    *("likeness to a later one", "likeness to an earlier one"),
    *("likeness to a later one, present", "likeness to a later one, past"),
)
"""What is known of each candidate: the first columns of :meth:`UnitFeatures.matrix`."""
_COMPARED = (
    *("score", "cosine", "raw cosine", "coverage", "own coverage", "soft match"),
    *("soft match nearby", "words matched", "words matched nearby", "words met", "largest miss"),
    *("largest miss nearby", "matched back", "kinds met"),
)
QUESTION_FEATURES = (
    *(f"best {name}" for name in _COMPARED),
    *(f"fifth best {name}" for name in _COMPARED),
    *("typical cosine", "typical words matched", "peak"),
    *("terms known", "words known", "words met anywhere", "largest unknown", "unknown words"),
    *("worst match anywhere", "unknown names", "units"),
)
"""What is known of the question and the whole memory: the last columns, equal in all rows."""
_QUESTION = 5 + list(_TEXT_CUES).index("question")  # its column in the fixed features
STRONG_MATCH = 0.45
"""Cosine of two words above which they count as related."""
MET = 0.6
"""Cosine of two words above which they count as the same."""
ALIKE = 100
"""Best candidates that are compared with each other."""
_NEARNESS = np.append(np.exp(-np.arange(30, dtype=np.float32) / 3), np.float32(0))
_NEARNESS[0] = 0
"""Weight of another candidate by its distance in units; a candidate isn't near itself.

The last one is that of all greater distances."""
_compared_columns = [FEATURES.index(name) for name in _COMPARED]
_compared_signs = np.array(
    [[-1 if name.startswith("largest miss") else 1] for name in _COMPARED], np.float32
)
_typical_columns = [_COMPARED.index(name) for name in ("cosine", "words matched")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagePlace:
    """Where a unit stands in its turn.

    Attributes:
        text: its words, without the speaker.
        answers: the question before it, where it is a short reply.
        number: number of the passage in its turn, from 0.
        passages: how many passages the turn has.
    """

    text: str
    answers: str = ""
    number: int = 0
    passages: int = 1


class UnitFeatures:
    """What the features need to know of each unit of a ranking, extended along with it."""

    def __init__(self, ranking: Ranking) -> None:
        self._ranking = ranking
        self._words = UnitWords()
        self._sessions: GrowingArray[np.int64] = GrowingArray(np.int64)
        # Turns are counted apart from memories, which are added whenever they were made: the
        # features must not depend on when that was. A memory counts as its session's last turn.
        self._orders: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._turn_positions: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._last_orders: dict[int, int] = {}
        self._kinds: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._fixed: GrowingArray[np.float32] = GrowingArray(np.float32)

    def extend(self, units: Sequence[Unit], places: Sequence[PassagePlace]) -> None:
        """Add units in the order of the ranking."""
        orders: list[int] = []
        turn_positions: list[int] = []
        unit_words: list[list[str]] = []
        kinds: list[int] = []
        fixed: list[list[float]] = []
        for unit, place in zip(units, places, strict=True):
            split = split_words(f"{place.answers} {place.text}" if place.answers else place.text)
            words = list(dict.fromkeys(word for word, _ in split))
            unit_words.append(words)
            kinds.append(kinds_met(term for _, term in split))
            order = len(self._turn_positions) + len(turn_positions)
            first = bool(unit.turn) and unit.session not in self._last_orders
            fixed.append(_fixed_features(place, len(words), first))
            if unit.turn:
                turn_positions.append(len(self._orders) + len(orders))
                self._last_orders[unit.session] = order
            orders.append(self._last_orders.get(unit.session, max(order - 1, 0)))
        self._orders.extend(orders)
        self._turn_positions.extend(turn_positions)
        self._words.extend(unit_words)
        self._sessions.extend([unit.session for unit in units])
        self._kinds.extend(kinds)
        self._fixed.extend(fixed)

    @property
    def sessions(self) -> NDArray[np.int64]:
        """Number of each unit's session."""
        return self._sessions.values

    @property
    def orders(self) -> NDArray[np.int64]:
        """Number of each unit's turn in the order of the log; of a memory, its session's last."""
        return self._orders.values

    @property
    def fixed(self) -> NDArray[np.float32]:
        """What is known of each unit by itself, ``(n, f)``: its length, its place and its cues."""
        return self._fixed.values

    def state(self) -> dict[str, Any]:
        """Return all that :meth:`restore` needs."""
        return array_state(self) | {"words": self._words.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over the features of the restored ranking."""
        restore_arrays(self, state)
        turns = self._turn_positions.values
        sessions: list[int] = self._sessions.values[turns].tolist()
        self._last_orders = {session: order for order, session in enumerate(sessions)}
        self._words.restore(state["words"])

    def matrix(self, query: Query, evidence: Evidence, at: Positions, without: Positions) -> Matrix:
        """Return the features of the units at some positions, best first: ``(m, features)``.

        Args:
            evidence: the scores of all units by :meth:`Ranking.evidence`.
            at: positions of the best units by total score, best first; at least one.
            without: positions of units that the query must not know of, such as the query itself
                where it is logged.
        """
        kept = np.ones(len(evidence.total), bool)
        kept[without] = False
        hidden = frozenset(without.tolist())
        among = kept if len(without) else None
        total = standardize(evidence.total, among)
        scores = evidence.total[at]
        index = self._ranking.lexical
        words, terms = [word for word, _ in evidence.words], [term for _, term in evidence.words]
        idf = {term: index.idf(term) for term in terms}
        weights = np.array([idf[term] for term in terms], np.float32)
        whole = max(sum(idf.values()), 1e-6)
        share = weights / weights.sum() if len(weights) else weights
        numbers = {word: number for number, word in enumerate(dict.fromkeys(words))}
        vectors, general = self._words.vectors(list(numbers))
        around, same = self._around(at)
        matches, back = self._soft_matches(vectors, around, same)
        repeated = np.array([numbers[word] for word in words], np.int64)
        (before, inside, after), general = matches[:, repeated], general[repeated]
        saturations = np.where(same, evidence.saturations[:, around], 0)
        own = np.einsum("t,tdm->dm", evidence.idf, saturations)
        matched = saturations[:, 1] > 0
        language = guess_language(query.cue)
        asks = _question_patterns | cue_words.QUESTION_CUES.get(language, {})
        part = general / general.sum() if len(words) else general
        asked = kinds_asked(
            [*terms, *map(stem, WORD.findall(without_modal(query.text).casefold()))]
        )
        kinds = np.array([bit for bit in KINDS if asked & bit], np.int64)
        nearby = np.maximum(inside, 0.8 * np.maximum(before, after))
        # Columns, or several of them as rows of a matrix.
        columns: list[NDArray[np.floating] | float] = [
            scores,
            np.log1p(np.arange(len(at))),
            total[at[0]] - total[at],
            evidence.cosine[at],
            standardize(evidence.cosine, among)[at],
            evidence.smoothed[at],
            evidence.lexical[at],
            own[1],
            evidence.lexical[at] / whole,
            own[1] / whole,
            matched.sum(axis=0),
            (matched * evidence.idf[:, None]).max(axis=0, initial=0),
            share @ inside,
            share @ np.where(inside > STRONG_MATCH, inside, 0),
            inside.min(axis=0, initial=1) if len(words) else 0,
            share @ np.maximum(inside, 0.7 * np.maximum(before, 0.7 * after)),
            self._ranking.cues(query, at),
            own[0] / whole,
            own[2] / whole,
            np.where(same[0], self._fixed.values[around[0], _QUESTION], 0),
            self._fixed.values[at].T,
            np.array([[bool(pattern.search(query.cue))] for pattern in asks.values()], np.float32),
            np.log1p(len(words)),
            np.vecdot(self._ranking.vectors.values[at], query.vector),
            part @ inside,
            part @ nearby,
            part @ (inside > MET),
            (general[:, None] * (1 - inside)).max(axis=0, initial=0),
            (general[:, None] * (1 - nearby)).max(axis=0, initial=0),
            back,
            len(kinds),
            (self._kinds.values[at] & kinds[:, None] > 0).sum(axis=0) / max(len(kinds), 1),
            *self._places(at, int(np.where(kept, self._orders.values, -1).argmax()), query, asks),
            *self._density(at, evidence),
            *self._likeness(at, query, asks),
        ]
        features = np.empty((len(FEATURES) + len(QUESTION_FEATURES), len(at)), np.float32)
        row = 0
        for column in columns:
            rows = len(column) if isinstance(column, np.ndarray) and column.ndim == 2 else 1
            features[row : row + rows] = column
            row += rows
        occurs = {term: index.has(term, hidden) for term in idf}
        known = np.array([occurs[term] for term in terms], np.bool_)
        anywhere = inside.max(axis=1, initial=0)
        compared = np.sort(features[_compared_columns] * _compared_signs, axis=1)
        middle = [(len(at) - 1) // 2, len(at) // 2]
        names = {name.casefold() for name in _find_names(query.cue, language)}
        whole_question = [
            *compared[:, -1],
            *compared[:, -min(5, len(at))],
            *compared[_typical_columns][:, middle].mean(axis=1),
            1 / np.exp(scores - scores[0]).sum(),
            share @ known,
            part @ known,
            part @ (anywhere > MET),
            general[~known].max(initial=0),
            (~known).sum(),
            (general * (1 - anywhere)).max(initial=0),
            sum(word in names and not here for word, here in zip(words, known, strict=True)),
            np.log1p(np.count_nonzero(kept)),
        ]
        features[len(FEATURES) :] = np.array(whole_question, np.float32)[:, None]
        return features.T

    def _around(self, at: Positions) -> tuple[Positions, NDArray[np.bool_]]:
        """Return the turns before, at and after each, and which are in its session: ``(3, m)``.

        Where there is none, and around a memory, the position is any valid one.
        """
        sessions, turns = self._sessions.values, self._turn_positions.values
        around = np.stack([at, at, at])
        same = np.zeros(around.shape, np.bool_)
        same[1] = True
        if len(turns):
            orders = self._orders.values[at]
            neighbors = orders + np.arange(-1, 2)[:, None]
            inside = np.minimum(np.maximum(neighbors, 0), len(turns) - 1)  # sooner than np.clip
            is_turn = turns[inside[1]] == at
            around = np.where(is_turn, turns[inside], around)
            same |= is_turn & (neighbors == inside) & (sessions[around] == sessions[at])
        return around, same

    def _places(
        self, at: Positions, last: int, query: Query, asks: Mapping[str, re.Pattern[str]]
    ) -> list[NDArray[np.floating]]:
        """Return where in the log the units are, 0 to 1, and how that fits the question's tense."""
        sessions, orders = self._sessions.values, self._orders.values
        place = np.minimum((orders[at] + 1) / (orders[last] + 1), 1)
        present, past = (bool(asks[name].search(query.cue)) for name in ("present", "past"))
        in_last = (sessions[at] == sessions[last]).astype(np.float32)
        return [place, in_last, (place - 0.5) * present, (place - 0.5) * past]

    def _density(self, at: Positions, evidence: Evidence) -> list[NDArray[np.floating]]:
        """Return how good the other candidates near each one and in its session are.

        That is the sum and the maximum of those near it, and its session's share of all.
        """
        scores = evidence.total[at]
        mass = np.exp(scores - scores[0]).astype(np.float32)
        sessions = self._sessions.values[at]
        same = sessions[:, None] == sessions
        orders = self._orders.values[at]
        # Different sessions are so far apart that the weight of their distance is the last one.
        places = orders + sessions * (orders.max() + len(_NEARNESS))
        distances = places[:, None] - places
        near = _NEARNESS.take(np.abs(distances, out=distances), mode="clip")
        shares = same @ mass
        return [np.log1p(near @ mass), (near * mass).max(axis=1, initial=0), shares / mass.sum()]

    def _likeness(
        self, at: Positions, query: Query, asks: Mapping[str, re.Pattern[str]]
    ) -> list[NDArray[np.floating]]:
        """Return how alike each candidate is to a later and to an earlier one of its speaker.

        Where a state has changed, the old one has a later one that is alike. The first is also
        returned for questions about the present alone, and for ones about the past.
        """
        best = at[:ALIKE]
        rows = self._ranking.dense.centered(best)
        alike = matrix_product(rows, np.ascontiguousarray(rows.T))
        orders, groups = self._orders.values[best], self._ranking.speaker_groups[best]
        comparable = groups[:, None] == groups
        later = comparable & (orders > orders[:, None])
        likeness = np.zeros((2, len(at)), np.float32)
        for row, among in zip(likeness, (later, later.T), strict=True):
            row[: len(best)] = np.where(among, alike, 0).max(axis=1, initial=0)
        present, past = (bool(asks[name].search(query.cue)) for name in ("present", "past"))
        return [*likeness, likeness[0] * present, likeness[0] * past]

    def _soft_matches(
        self, vectors: Matrix, around: Positions, same: NDArray[np.bool_]
    ) -> tuple[Matrix, Matrix]:
        """Return how well each query word matches the units before, at and after each position.

        That is ``(3, words, m)``, 0 for units of other sessions; and of the unit at each position
        the mean over its own words, ``(m,)``. See :meth:`UnitWords.match`.
        """
        units, places = distinct(around[same], len(self._orders))
        best, means = self._words.match(vectors, units)
        matches = np.zeros((*around.shape, len(vectors)), np.float32)
        matches[same] = best[places]
        first = np.count_nonzero(same[0])  # all units themselves are in the second row
        return matches.transpose(0, 2, 1), means[places[first : first + around.shape[1]]]


def _find_names(text: str, language: Language) -> list[str]:
    """Return the capitalized words within sentences; none in German, which capitalizes nouns."""
    return [] if language == "de" else _CAPITALIZED.findall(text)


def _fixed_features(place: PassagePlace, words: int, first: bool) -> list[float]:
    text = place.text
    language = guess_language(text)
    patterns = _text_patterns | cue_words.TEXT_CUES.get(language, {})
    return [
        float(np.log1p(words)),
        float(np.log1p(len(_find_names(text, language)))),
        float(first),
        place.number / max(place.passages - 1, 1),
        float(np.log1p(place.passages)),
        *(
            float(np.log1p(len(p.findall(text))))
            if name == "first person"
            else float(bool(p.search(text)))
            for name, p in patterns.items()
        ),
    ]
