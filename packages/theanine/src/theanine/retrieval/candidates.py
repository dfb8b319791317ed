"""The candidates of recall: every logged turn, by passages, and the statements of a model.

A turn is a candidate as soon as it is logged, whether or not its session has ended or was
remembered. Memories that quote the log are not candidates of their own: their source turns are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio
import numpy as np
from numpy.typing import NDArray

from theanine.clock import micros
from theanine.embeddings.base import Embedder, Vectors
from theanine.embeddings.static import NAME as STATIC
from theanine.retrieval.cue_words import NEGATION, UNSPACED_NEGATION
from theanine.retrieval.features import PassagePlace, UnitFeatures
from theanine.retrieval.growing_array import GrowingArray
from theanine.retrieval.languages import in_english, written_words
from theanine.retrieval.lexical import content_words
from theanine.retrieval.passages import Span, split_passages
from theanine.retrieval.query import Query
from theanine.retrieval.ranking import Ranking, RankingConfig, Unit
from theanine.retrieval.relevance import CANDIDATES, load_model
from theanine.retrieval.scoring import top_k
from theanine.tokenizer import count_tokens
from theanine.types import LOCAL_MODEL, Memory, Turn

BATCH = 1_000
"""Units embedded at once."""


_NEGATION = re.compile(
    rf"\b(?:no|not|never|none|nobody|nothing|without|{NEGATION})\b|n['’]t\b|{UNSPACED_NEGATION}",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:was|were|had|did|used)\b", re.IGNORECASE)
_QUESTION = re.compile(r"[?？؟]\W*$")
_FILLER = frozenset(
    "d ll m re s t ve again already mention mentioned recall remember reminder said say saying "
    "tell telling told well yes yeah".split()
)
"""Words that a repetition may have more: halves of contractions, and words about saying."""
_REPEATED = 0.75
"""A repetition has at least this share of what it repeats."""
_ECHOED = 0.75
"""A turn that has at least this share of another's words tells it; one of whose own words the
other has at least this share tells nothing else."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a candidate says, to find out whether another one only repeats it.

    Attributes:
        kind: speaker, and whether it is negated, past, and a question.
        words: its distinct content words in order.
        word_set: the same words.
    """

    kind: tuple[str, bool, bool, bool]
    words: tuple[str, ...]
    word_set: frozenset[str]

    @classmethod
    def read(cls, speaker: str, text: str) -> Content:
        """Return the content of a text."""
        words = tuple(dict.fromkeys(word for word in written_words(text) if word not in _FILLER))
        forms = (_NEGATION, _PAST, _QUESTION)
        negated, past, question = (form.search(text) is not None for form in forms)
        return cls((speaker, negated, past, question), words, frozenset(words))

    @property
    def asks(self) -> bool:
        """Whether it ends with a question."""
        return self.kind[-1]

    def repeats(self, other: Content) -> bool:
        """Whether it says what ``other`` says, or nearly all of it, in the same order."""
        if self.kind != other.kind or len(self.words) < _REPEATED * len(other.words):
            return False
        if not self.word_set <= other.word_set:
            return False
        following = iter(other.words)
        return all(word in following for word in self.words)

    def tells(self, other: Content) -> bool:
        """Whether it has nearly all words of ``other``, which has some."""
        common = len(self.word_set & other.word_set)
        return common > 1 and common >= _ECHOED * len(other.words)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidate:
    """A passage of a turn, or a memory written by a model.

    Attributes:
        turn: the turn, or None for a memory.
        span: the passage's characters in the turn's text.
        memory: the memory, or None for a passage.
    """

    turn: Turn | None = None
    span: Span = (0, 0)
    memory: Memory | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it is all of a turn or a memory."""
        return self.turn is None or self.span == (0, len(self.turn.full_text))

    @property
    def text(self) -> str:
        """The passage or the statement, without speaker and date."""
        if self.turn is not None:
            return self.turn.full_text[slice(*self.span)].strip()
        return self.memory.text if self.memory else ""


@dataclass(frozen=True, slots=True)
class RankedCandidate:
    """A candidate with its score for a query; higher is better.

    Attributes:
        relevance: probability that it is evidence for the answer, 0 to 1.
    """

    candidate: Candidate
    score: float
    relevance: float = 0.0


def embedded_text(text: str, embedder: Embedder) -> str:
    """Return what to embed of a text: for the bundled English embedder, its everyday words."""
    return in_english(text) if embedder.name == STATIC else text


class CandidateIndex:
    """Candidates of one scope, in order of arrival, and their ranking."""

    def __init__(self, config: RankingConfig | None = None) -> None:
        self._ranking = Ranking(config)
        self._features = UnitFeatures(self._ranking)
        self._candidates = list[Candidate]()
        self._times: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._tokens: dict[Candidate, int] = {}
        self._contents: dict[Candidate, Content] = {}
        self._of_turn: dict[int, list[Candidate]] = {}
        self._of_memory: dict[int, Candidate] = {}
        self.last_turn = self.last_memory = 0
        self.lock = anyio.Lock()

    def __len__(self) -> int:
        return len(self._candidates)

    def without_speakers(self, text: str) -> str:
        """Remove speaker names from the text of a query before it is embedded."""
        return self._ranking.without_speakers(text)

    async def extend(
        self, turns: Sequence[Turn], memories: Sequence[Memory], embedder: Embedder
    ) -> None:
        """Add turns and memories that came after the last ones, in order of id."""
        added = [
            entry for turn in turns if turn.id > self.last_turn for entry in _turn_candidates(turn)
        ] + [
            _memory_candidate(memory)
            for memory in memories
            if memory.id > self.last_memory and memory.made_by != LOCAL_MODEL
        ]
        for start in range(0, len(added), BATCH):
            batch = added[start : start + BATCH]
            texts = [embedded_text(unit.text, embedder) for _, unit, _ in batch]
            self._add(batch, await embedder.embed(texts))
        self.last_turn = max([self.last_turn, *(turn.id for turn in turns)])
        self.last_memory = max([self.last_memory, *(memory.id for memory in memories)])

    def add_turns(self, turns: Sequence[Turn], embed: Callable[[Sequence[str]], Vectors]) -> None:
        """Add turns with an embedder that needs no await."""
        added = [entry for turn in turns for entry in _turn_candidates(turn)]
        self._add(added, embed([unit.text for _, unit, _ in added]))

    def _add(self, batch: Sequence[tuple[Candidate, Unit, PassagePlace]], vectors: Vectors) -> None:
        units = [unit for _, unit, _ in batch]
        self._ranking.extend(units, vectors)
        self._features.extend(units, [place for _, _, place in batch])
        owners = [candidate.turn or candidate.memory for candidate, _, _ in batch]
        self._times.extend([micros(owner.at) for owner in owners if owner is not None])
        for candidate, _, _ in batch:
            self._candidates.append(candidate)
            if candidate.turn is not None:
                self._of_turn.setdefault(candidate.turn.id, []).append(candidate)
            elif candidate.memory is not None:
                self._of_memory[candidate.memory.id] = candidate

    def tokens(self, candidate: Candidate) -> int:
        """Return the tokens of a candidate's line; counted once."""
        if candidate not in self._tokens:
            speaker = f"{candidate.turn.speaker}: " if candidate.turn else ""
            self._tokens[candidate] = count_tokens(f"\n{speaker}{candidate.text}")
        return self._tokens[candidate]

    def content(self, candidate: Candidate) -> Content:
        """Return what a candidate says; read once."""
        if candidate not in self._contents:
            speaker = candidate.turn.speaker if candidate.turn else ""
            self._contents[candidate] = Content.read(speaker, candidate.text)
        return self._contents[candidate]

    def of_memory(self, memory: Memory) -> list[Candidate]:
        """Return the candidates that say what a memory says: itself, or passages it quotes."""
        if memory.id in self._of_memory:
            return [self._of_memory[memory.id]]
        words = set(content_words(memory.text))
        return [
            max(passages, key=lambda passage: len(words.intersection(content_words(passage.text))))
            for turn in memory.source_turns
            if (passages := self._of_turn.get(turn))
        ]

    @property
    def times(self) -> NDArray[np.int64]:
        """Time of each candidate, in microseconds since 1970."""
        return self._times.values

    def search(self, query: Query, among: NDArray[np.bool_] | None = None) -> list[RankedCandidate]:
        """Return the best candidates, at most ``CANDIDATES``, best first.

        ``among`` is the mask of the candidates to search, in the order of ``times``.
        """
        features, candidates = self.features(query, among)
        if not candidates:
            return []
        model = load_model()
        scores, relevance = model.scores(features), model.relevance(features)
        order: list[int] = np.argsort(-scores, kind="stable").tolist()
        return [
            RankedCandidate(candidates[at], float(scores[at]), float(relevance[at])) for at in order
        ]

    def features(
        self, query: Query, among: NDArray[np.bool_] | None = None
    ) -> tuple[NDArray[np.float32], list[Candidate]]:
        """Return the features of the candidates to be reranked, ``(m, features)``, and these."""
        if not self._candidates:
            return np.zeros((0, 0), np.float32), []
        evidence = self._ranking.evidence(query)
        n = len(self._candidates)
        total = evidence.total if among is None else np.where(among, evidence.total, -np.inf)
        best = top_k(total, np.arange(n), min(n, CANDIDATES))
        best = best[np.isfinite(total[best])]
        positions: list[int] = best.tolist()
        candidates = [self._candidates[position] for position in positions]
        return self._features.matrix(query, evidence, best), candidates


def _turn_candidates(turn: Turn) -> list[tuple[Candidate, Unit, PassagePlace]]:
    text = turn.full_text
    spans = split_passages(text) if text.strip() else []
    entries: list[tuple[Candidate, Unit, PassagePlace]] = []
    for number, (start, end) in enumerate(spans):
        passage = text[start:end].strip()
        unit = Unit(
            text=f"{turn.speaker}: {passage}",
            session=turn.session,
            at=turn.at if turn.dated else None,
            speakers=(turn.speaker,),
            turn=turn.id,
        )
        place = PassagePlace(text=passage, number=number, passages=len(spans))
        entries.append((Candidate(turn=turn, span=(start, end)), unit, place))
    return entries


def _memory_candidate(memory: Memory) -> tuple[Candidate, Unit, PassagePlace]:
    unit = Unit(
        text=memory.text,
        session=memory.session,
        at=memory.at if memory.dated else None,
        speakers=memory.speakers,
    )
    return Candidate(memory=memory), unit, PassagePlace(text=memory.text)
