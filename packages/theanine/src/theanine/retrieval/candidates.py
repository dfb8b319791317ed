"""The candidates of recall: every logged turn, by passages, and the statements of a model.

A turn is a candidate as soon as it is logged, whether or not its session has ended or was
remembered. Memories that quote the log are not candidates of their own: their source turns are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theanine.clock import micros
from theanine.embeddings.base import Embedder, Vectors
from theanine.embeddings.encoder import NAME as ENCODER
from theanine.embeddings.static import NAME as STATIC
from theanine.retrieval.contents import Content, Contents
from theanine.retrieval.features import PassagePlace, UnitFeatures
from theanine.retrieval.growing_array import GrowingArray, array_state, restore_arrays
from theanine.retrieval.languages import (
    UNSPACED,
    Language,
    guess_language,
    in_english,
    is_similar,
    stem,
    stems,
)
from theanine.retrieval.neighbors import Positions
from theanine.retrieval.passages import split_passages
from theanine.retrieval.query import Query
from theanine.retrieval.ranking import Ranking, RankingConfig, Unit
from theanine.retrieval.relevance import CANDIDATES, load_model
from theanine.retrieval.scoring import top_k
from theanine.sentences import Span
from theanine.types import NO_MODEL_NOTICE, QUOTING, Memory, Turn

_LANGUAGES: dict[str, frozenset[Language]] = {
    STATIC: frozenset(["en"]),
    ENCODER: frozenset(["en", "de", "es", "fr", "it", "pt", "zh", "ja"]),
}
"""Languages that an embedder reads, of those whose everyday words are known."""
BATCH = 250
"""Units embedded at once: one second of the fitted encoder, for which a close may wait."""
_NEXT = 4
"""Passages around one in which its speaker may go on."""
_SIMILAR = 8
"""Terms that are looked at for a misspelled word."""
NOBODY = -1
"""Number of the speaker of a model's statement."""


class Candidate:
    """A passage of a turn, or a memory written by a model.

    Attributes:
        owner: the turn or the memory.
        span: the passage's characters in the turn's text; all of a memory's.
        text: the passage or the statement, without speaker and date.
        is_whole: whether it is all of a turn or a memory.
    """

    __slots__ = ("is_whole", "owner", "span", "text")

    def __init__(self, owner: Turn | Memory, span: Span = (0, 0)) -> None:
        self.owner = owner
        if isinstance(owner, Memory):
            self.text, self.span, self.is_whole = owner.text, (0, len(owner.text)), True
        else:
            words = owner.full_text
            self.text, self.span = words[slice(*span)].strip(), span
            self.is_whole = span == (0, len(words))


@dataclass(slots=True, eq=False)
class RankedCandidate:
    """A candidate, not read from the store yet, with its score for a query; higher is better.

    Attributes:
        position: its place in the index.
        turn, memory: their numbers; one of them is 0.
        relevance: probability that it is evidence for the answer, 0 to 1.
    """

    position: int
    turn: int
    memory: int
    score: float = 0.0
    relevance: float = 0.0


def embedded_text(text: str, embedder: Embedder) -> str:
    """Return what to embed of a text: its everyday words in English, if its language is unknown.

    The bundled word vectors are English; the fitted encoder was fitted on some more languages.
    """
    reads = _LANGUAGES.get(embedder.name)
    return text if reads is None or guess_language(text) in reads else in_english(text)


class CandidateIndex:
    """Candidates of one scope, in order of arrival, and their ranking. It holds no texts.

    Attributes:
        embedder: the name of the embedder of the vectors.
        last_turn, last_memory: the highest numbers that were added.
    """

    def __init__(self, config: RankingConfig | None = None) -> None:
        self.embedder = STATIC
        self._ranking = Ranking(config)
        self._features = UnitFeatures(self._ranking)
        self._contents = Contents()
        self._times: GrowingArray[np.int64] = GrowingArray(np.int64)
        # The turn and the memory of each candidate; one of them is 0.
        self._turns: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._memories: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._spans: GrowingArray[np.int32] = GrowingArray(np.int32)
        self._notices: GrowingArray[np.bool_] = GrowingArray(np.bool_)
        self._by_user: GrowingArray[np.bool_] = GrowingArray(np.bool_)
        self._by_assistant: GrowingArray[np.bool_] = GrowingArray(np.bool_)
        # The candidates of turns and their turns, and of memories, in order.
        self._memory_positions: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._ordered_memories: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._turn_positions: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._ordered_turns: GrowingArray[np.int64] = GrowingArray(np.int64)
        self.last_turn = self.last_memory = 0

    def __len__(self) -> int:
        return len(self._turns)

    @property
    def times(self) -> NDArray[np.int64]:
        """Time of each candidate, in microseconds since 1970."""
        return self._times.values

    @property
    def turns(self) -> NDArray[np.int64]:
        """Number of each candidate's turn; 0 for a memory."""
        return self._turns.values

    @property
    def memories(self) -> NDArray[np.int64]:
        """Number of each candidate's memory; 0 for a passage."""
        return self._memories.values

    def spans(self, positions: Sequence[int]) -> dict[int, Span]:
        """Return the characters of passages in their turns' texts, by position."""
        rows = self._spans.values[np.array(positions, np.int64)].tolist()
        return {at: (start, end) for at, (start, end) in zip(positions, rows, strict=True)}

    @property
    def by_user(self) -> NDArray[np.bool_]:
        """Whether each candidate is a passage of the user's."""
        return self._by_user.values

    @property
    def by_assistant(self) -> NDArray[np.bool_]:
        """Whether each candidate is a passage of the assistant's."""
        return self._by_assistant.values

    @property
    def notices(self) -> NDArray[np.bool_]:
        """Whether each candidate is a notice of ours, which no recall returns."""
        return self._notices.values

    @property
    def standing(self) -> NDArray[np.bool_]:
        """Whether each candidate states a lasting instruction or preference."""
        return self._ranking.standing

    @property
    def sessions(self) -> NDArray[np.int64]:
        """Number of each candidate's session."""
        return self._features.sessions

    @property
    def days(self) -> NDArray[np.float32]:
        """Day of each candidate as an ordinal, in its own time zone; NaN if it is unknown."""
        return self._ranking.days

    @property
    def tokens(self) -> NDArray[np.int32]:
        """Tokens of each candidate's line after a line break, with its speaker."""
        return self._contents.tokens

    @property
    def read_terms(self) -> int:
        """Terms of the words' index in main memory; see :attr:`BM25Index.read_terms`."""
        return self._ranking.lexical.read_terms

    def vectors(self, positions: Positions) -> Vectors:
        """Return the vectors of some candidates without the mean of all, of unit norm."""
        return self._ranking.dense.centered(positions)

    def embeddings(self, positions: Positions) -> Vectors:
        """Return the vectors of some candidates as the embedder gave them."""
        return self._ranking.dense.vectors.values[positions]

    @property
    def fixed_features(self) -> NDArray[np.float32]:
        """What is known of each candidate by itself; see :data:`~.features.FIXED`."""
        return self._features.fixed

    @property
    def speaker_groups(self) -> NDArray[np.int64]:
        """Number of each candidate's speakers; equal speakers have the same."""
        return self._ranking.speaker_groups

    @property
    def asks(self) -> NDArray[np.bool_]:
        """Whether each candidate ends with a question."""
        return self._contents.asks

    @property
    def years(self) -> frozenset[int]:
        """The years in which something was said."""
        return self._ranking.years

    @property
    def orders(self) -> NDArray[np.int64]:
        """Number of each candidate's turn in the order of the log, memories counted as the last."""
        return self._features.orders

    def tells(self, word: str, *, similar: bool = False) -> bool:
        """Whether a candidate that asks nothing has a word in lower case, or a ``similar`` one.

        The word may be of any language, since a name has no other.
        Similar words begin with the same letter and differ in one letter, accents aside.
        """
        index, asks = self._ranking.lexical, self._contents.asks
        terms = stems(word)
        if any(not asks[index.documents(term)].all() for term in terms):
            return True
        return similar and any(
            is_similar(word, term) and not asks[index.documents(term)].all()
            for term in index.terms()
        )

    def tells_together(self, words: Sequence[str]) -> bool:
        """Whether one candidate that asks nothing has all of some words in lower case."""
        if not all(map(self.tells, words)):
            return False
        index = self._ranking.lexical
        having = reduce(np.intersect1d, [index.documents(word) for word in words])
        return not self._contents.asks[having].all()

    def said_next(self, position: int, step: int) -> int | None:
        """Return the position of what its speaker said next in the session, with -1 before it."""
        last = max(min(position + step * _NEXT, len(self) - 1), 0)
        speakers, sessions = self.speaker_groups, self.sessions
        speaker, session = speakers[position], sessions[position]
        for other in range(position + step, last + step, step):
            if speakers[other] == speaker and sessions[other] == session:
                return other
        return None

    def reply_to(self, position: int) -> int | None:
        """Return where in the session another speaker goes on after a passage, if one does."""
        speakers, sessions = self.speaker_groups, self.sessions
        for other in range(position + 1, min(position + 1 + _NEXT, len(self))):
            is_turn = sessions[other] == sessions[position] and self.turns[other]
            if is_turn and speakers[other] != speakers[position]:
                return other
        return None

    def question_of(self, position: int) -> int | None:
        """Return where the question is that another speaker asked just before a passage, if any."""
        other = position - 1
        while other >= 0 and not self.turns[other]:
            other -= 1
        if other < 0 or self.sessions[other] != self.sessions[position]:
            return None
        is_other = self.speaker_groups[other] != self.speaker_groups[position]
        return other if is_other and self.asks[other] else None

    def speakers_named(self, name: str) -> frozenset[str]:
        """Return the speakers whom a name names."""
        return self._ranking.speakers_named(name)

    def is_by(self, speaker: str, positions: Positions) -> NDArray[np.bool_]:
        """Return whether each of some candidates is by a speaker alone."""
        return self._ranking.is_by(speaker, positions)

    def knows(self, word: str) -> bool:
        """Whether a candidate has a word in lower case, or another form of it."""
        index = self._ranking.lexical
        return index.has(word) or index.has(stem(word))

    def similar_terms(self, word: str) -> list[tuple[str, int]]:
        """Return terms of words that may differ in one letter, each with the last that has it.

        The most frequent first, at most ``_SIMILAR``.
        """
        index = self._ranking.lexical
        similar = [
            term
            for term in index.terms()
            if term[:1] == word[:1]
            and any(
                is_similar(form, term)
                for form in (stem(word), *(word[: len(term) + more] for more in (-1, 0, 1)))
            )
        ]
        documents = {term: index.documents(term) for term in similar}
        best = sorted(similar, key=lambda term: -len(documents[term]))[:_SIMILAR]
        return [(term, int(documents[term][-1])) for term in best]

    def contents(self, positions: Sequence[int] | Positions) -> Iterator[Content]:
        """Yield what some candidates say."""
        return self._contents.read(positions)

    @property
    def settings(self) -> str:
        """A text that identifies the settings on which :meth:`state` depends."""
        return self._ranking.smoothing.settings

    def without_speakers(self, text: str) -> str:
        """Remove speaker names from the text of a query before it is embedded."""
        return self._ranking.without_speakers(text)

    async def extend(
        self, turns: Sequence[Turn], memories: Sequence[Memory], embedder: Embedder
    ) -> None:
        """Add turns and memories that came after the last ones, in order of id.

        A turn that was added already only tells what the next one answers.
        """
        added = [
            entry
            for before, turn in pairwise([None, *turns])
            if turn and turn.id > self.last_turn
            for entry in _turn_candidates(turn, before)
        ] + [
            _memory_candidate(memory)
            for memory in memories
            if memory.id > self.last_memory and memory.made_by not in QUOTING
        ]
        batches = [added[start : start + BATCH] for start in range(0, len(added), BATCH)]
        vectors = [
            await embedder.embed([embedded_text(unit.text, embedder) for _, _, unit, _ in batch])
            for batch in batches
        ]
        for batch, rows in zip(batches, vectors, strict=True):  # all or, if one fails, none
            self._add(batch, rows)
        self.last_turn = max([self.last_turn, *(turn.id for turn in turns)])
        self.last_memory = max([self.last_memory, *(memory.id for memory in memories)])

    def add_turns(self, turns: Sequence[Turn], embed: Callable[[Sequence[str]], Vectors]) -> None:
        """Add turns with an embedder that needs no await."""
        added = [
            entry
            for before, turn in pairwise([None, *turns])
            if turn
            for entry in _turn_candidates(turn, before)
        ]
        self._add(added, embed([unit.text for _, _, unit, _ in added]))

    def _add(self, batch: Sequence[_Entry], vectors: Vectors) -> None:
        owners = [owner for owner, _, _, _ in batch]
        units = [unit for _, _, unit, _ in batch]
        turns = [owner.id if isinstance(owner, Turn) else 0 for owner in owners]
        # Rounded as they are stored, so that a restored index gives the same scores.
        self._ranking.extend(units, np.asarray(vectors, np.float16).astype(np.float32))
        self._features.extend(units, [place for _, _, _, place in batch])
        groups: list[int] = self._ranking.speaker_groups[len(self) :].tolist()
        self._contents.extend(
            [group if turn else NOBODY for group, turn in zip(groups, turns, strict=True)],
            [place.text for _, _, _, place in batch],
            [_line(owner, place) for owner, _, _, place in batch],
        )
        memories = [owner.id if isinstance(owner, Memory) else 0 for owner in owners]
        for numbers, ordered, positions in (
            (turns, self._ordered_turns, self._turn_positions),
            (memories, self._ordered_memories, self._memory_positions),
        ):
            ordered.extend([number for number in numbers if number])
            positions.extend([len(self) + i for i, number in enumerate(numbers) if number])
        self._times.extend([micros(owner.at) for owner in owners])
        self._spans.extend([span for _, span, _, _ in batch])
        self._notices.extend(
            [isinstance(owner, Turn) and NO_MODEL_NOTICE in owner.text for owner in owners]
        )
        roles = [owner.role if isinstance(owner, Turn) else None for owner in owners]
        self._by_user.extend([role == "user" for role in roles])
        self._by_assistant.extend([role == "assistant" for role in roles])
        self._memories.extend(memories)
        self._turns.extend(turns)

    def search(
        self,
        query: Query,
        among: NDArray[np.bool_] | None = None,
        *,
        without_turns: Collection[int] = (),
    ) -> list[RankedCandidate]:
        """Return the best candidates, at most ``CANDIDATES``, best first.

        Notices of ours are left out of the result.

        Args:
            among: mask of the candidates to search, in the order of ``times``.
            without_turns: numbers of turns that are left out of the result.
        """
        notices = np.flatnonzero(self._notices.values)
        without = np.concatenate([notices, self._positions_of(without_turns)])
        features, positions = self.features(query, among, without)
        if not len(positions):
            return []
        logits, relevance = load_model(self.embedder).apply(features)
        order = np.argsort(-logits, kind="stable")
        at = positions[order]
        columns = (
            at,
            self._turns.values[at],
            self._memories.values[at],
            logits[order],
            relevance[order],
        )
        return list(map(RankedCandidate, *(column.tolist() for column in columns)))

    def of_turn(self, turn: int) -> list[RankedCandidate]:
        """Return the passages of a turn, without scores."""
        positions: list[int] = self._positions_of([turn]).tolist()
        return [RankedCandidate(position, turn, 0) for position in positions]

    def _positions_of(self, turns: Collection[int]) -> Positions:
        """Return the positions of the passages of some turns."""
        numbers = np.fromiter(turns, np.int64, len(turns))
        ends = np.searchsorted(self._ordered_turns.values, [numbers, numbers + 1])
        places = [slice(*place) for place in ends.T.tolist()]
        positions = self._turn_positions.values
        return np.concatenate([positions[:0], *(positions[place] for place in places)])

    def of_memory(self, memory: int) -> list[RankedCandidate]:
        """Return a memory that is a candidate of its own, without a score."""
        first, last = np.searchsorted(self._ordered_memories.values, [memory, memory + 1]).tolist()
        positions: list[int] = self._memory_positions.values[first:last].tolist()
        return [RankedCandidate(position, 0, memory) for position in positions]

    def explain(self, query: Query, positions: Sequence[int]) -> dict[str, dict[int, float]]:
        """Return parts of the evidence for some candidates, by name and position."""
        evidence = self._ranking.evidence(query)
        parts = {"meaning": evidence.cosine, "words": evidence.lexical, "evidence": evidence.total}
        return {
            name: {position: float(values[position]) for position in positions}
            for name, values in parts.items()
        }

    def features(
        self,
        query: Query,
        among: NDArray[np.bool_] | None = None,
        without: Positions | None = None,
    ) -> tuple[NDArray[np.float32], Positions]:
        """Return features and positions of the candidates to be reranked, ``(m, features)``.

        ``without`` are positions that are neither returned nor known of.
        """
        n = len(self)
        without = np.zeros(0, np.int64) if without is None else without
        if not n:
            return np.zeros((0, 0), np.float32), np.zeros(0, np.int64)
        evidence = self._ranking.evidence(query)
        total = evidence.total if among is None else np.where(among, evidence.total, -np.inf)
        if len(without):
            total = total.copy()
            total[without] = -np.inf
        best = top_k(total, np.arange(n), min(n, CANDIDATES))
        best = best[np.isfinite(total[best])]
        if not len(best):
            return np.zeros((0, 0), np.float32), best
        return self._features.matrix(query, evidence, best, without), best

    def state(self) -> dict[str, Any]:
        """Return all that :meth:`restore` needs."""
        return array_state(self) | {
            "ranking": self._ranking.state(),
            "features": self._features.state(),
            "contents": self._contents.state(),
            "last": [self.last_turn, self.last_memory],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over the state of an index with the same configuration; this one must be empty."""
        restore_arrays(self, state)
        self._ranking.restore(state["ranking"])
        self._features.restore(state["features"])
        self._contents.restore(state["contents"])
        self.last_turn, self.last_memory = state["last"]


_Entry = tuple[Turn | Memory, Span, Unit, PassagePlace]


def _line(owner: Turn | Memory, place: PassagePlace) -> str:
    """Return the words of a candidate with who said them."""
    return f"{owner.speaker}: {place.text}" if isinstance(owner, Turn) else place.text


def turn_texts(turns: Sequence[Turn]) -> list[str]:
    """Return what is embedded of each turn; of a long one its first passage."""
    entries = [_turn_candidates(turn, before) for before, turn in pairwise([None, *turns]) if turn]
    return [found[0][2].text if found else "" for found in entries]


def _turn_candidates(turn: Turn, before: Turn | None = None) -> list[_Entry]:
    """Return the passages of a turn; ``before`` is the one before it in the log."""
    if turn.role == "system":  # the application's instructions are nothing that was said
        return []
    text = turn.full_text
    spans = split_passages(text) if text.strip() else []
    answers = _answered(turn, before) if len(spans) == 1 and before else ""
    entries: list[_Entry] = []
    for number, (start, end) in enumerate(spans):
        passage = text[start:end].strip()
        unit = Unit(
            text=f"{turn.speaker}: {answers} {passage}"
            if answers
            else f"{turn.speaker}: {passage}",
            session=turn.session,
            at=turn.at if turn.dated else None,
            speakers=(turn.speaker,),
            turn=turn.id,
        )
        place = PassagePlace(text=passage, answers=answers, number=number, passages=len(spans))
        entries.append((turn, (start, end), unit, place))
    return entries


SHORT_REPLY = 45
"""Characters up to which a turn is searched with the question that it answers.

"Three times a week." says nothing by itself. Characters of scripts without spaces count thrice."""
_QUESTION = re.compile(r"[^.!?。！？\n]*[?？؟]")


def _answered(turn: Turn, before: Turn) -> str:
    """Return the question that a short turn answers, or an empty string."""
    if before.session != turn.session or before.speaker == turn.speaker:
        return ""
    text = turn.full_text.strip()
    if len(text) + 2 * len("".join(UNSPACED.findall(text))) > SHORT_REPLY or text.endswith(
        ("?", "？")
    ):
        return ""
    questions = _QUESTION.findall(before.text[-_READ:])
    return questions[-1].strip() if questions else ""


_READ = 400
"""Last characters of a turn in which a question is looked for."""


def _memory_candidate(memory: Memory) -> _Entry:
    unit = Unit(
        text=" ".join([memory.text, *memory.cues]),
        session=memory.session,
        at=memory.at if memory.dated else None,
        speakers=memory.speakers,
    )
    return memory, (0, 0), unit, PassagePlace(text=memory.text)
