"""Look at the best segments turn by turn: which of them holds the one turn that fits?

Beyond the paper. A segment's own score is that of an average over its turns; here its turns are
scored as units of their own, as they were said, by the same evidence. A segment then counts by its
best turn, with its own score beside it; and where a token budget cuts, it is known which of its
turns to give back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.base import Vectors
from theanine.methods.base import Context
from theanine.methods.shared.recall import build_query
from theanine.retrieval.query import Query
from theanine.retrieval.ranking import Ranking, Unit
from theanine.retrieval.scope_index import RetrievalMode, ScopeIndex
from theanine.retrieval.scoring import standardize
from theanine.text.formatting import format_turn
from theanine.tokenizer import count_tokens
from theanine.types import Memory, Turn, Utterance

LENT = 0.2
"""What a turn is lent of its segment's score, and a segment of its own beside its best turn's."""
_CACHED = 20_000
"""Segments of a scope whose turns' vectors are held before they are let go."""

Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A segment whose turns were scored.

    Attributes:
        memory: the segment.
        score: its own, higher is better.
        turns: its turns, in order, without those that say nothing.
        scores: how well each fits.
        costs: tokens of each as it is given back, without its day.
    """

    memory: Memory
    score: float
    turns: Sequence[Turn]
    scores: Sequence[float]
    costs: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Lines:
    """A segment turn by turn, without those that say nothing."""

    turns: Sequence[Turn]
    vectors: Vectors
    costs: Sequence[int]


class _Known:
    """What was made of one scope's segments."""

    def __init__(self) -> None:
        self.lines: dict[int, _Lines] = {}
        self.ranked: tuple[tuple[int, ...], Ranking] | None = None


class CloseLook:
    """Scores the turns of segments; what it embeds is kept for as long as the scope's view is."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[ScopeIndex, _Known] = WeakKeyDictionary()

    async def at(
        self,
        found: Sequence[tuple[Memory, float]],
        query: str,
        dialogue: Sequence[Utterance],
        context: Context,
        how: RetrievalMode,
    ) -> list[Looked]:
        """The segments, best first. ``found`` are at least one, with their own scores."""
        ranked = sorted(found, key=lambda one: (one[0].session, one[0].source_turns[:1]))
        memories = [memory for memory, _ in ranked]
        known = self._known.setdefault(context.index, _Known())
        lines = await self._lines(memories, known, context)
        ranking = _ranking(memories, lines, known, context.index)
        scores = _scores(ranking, await build_query(query, dialogue, context, how), how)
        own = standardize(np.array([score for _, score in ranked], np.float32))
        return _looked(memories, lines, own, standardize(scores))

    async def _lines(
        self, memories: Sequence[Memory], known: _Known, context: Context
    ) -> list[_Lines]:
        if len(known.lines) > _CACHED:
            known.lines = {}
        cache = known.lines
        missing = [memory for memory in memories if memory.id not in cache]
        read = [
            [
                turn
                for turn in await context.index.turns(memory.source_turns)
                if turn.full_text.strip()
            ]
            for memory in missing
        ]
        texts = [turn.full_text for turns in read for turn in turns]
        vectors = await context.embedder.embed(texts) if texts else np.zeros((0, 0), np.float32)
        first = 0
        for memory, turns in zip(missing, read, strict=True):
            costs = [line_cost(format_turn(turn)) for turn in turns]
            cache[memory.id] = _Lines(turns, vectors[first : first + len(turns)], costs)
            first += len(turns)
        return [cache[memory.id] for memory in memories]


def _ranking(
    memories: Sequence[Memory], lines: Sequence[_Lines], known: _Known, view: ScopeIndex
) -> Ranking:
    """All turns of the segments as units; the last one is kept, as small scopes have no other."""
    ids = tuple(memory.id for memory in memories)
    if known.ranked is None or known.ranked[0] != ids:
        units = [_unit(turn, view) for one in lines for turn in one.turns]
        ranking = Ranking(view.ranking_config)
        if units:
            ranking.extend(units, np.concatenate([one.vectors for one in lines if one.turns]))
        known.ranked = ids, ranking
    return known.ranked[1]


def line_cost(line: str) -> int:
    """Tokens that a line adds to a text: the tokenizer cuts it otherwise where it stands alone."""
    return count_tokens(f"-\n{line}") - count_tokens("-")


def _unit(turn: Turn, view: ScopeIndex) -> Unit:
    return Unit(
        text=format_turn(turn),
        session=turn.session,
        at=turn.at if turn.dated else None,
        speakers=(turn.speaker,),
        turn=turn.id,
    )


def _scores(ranking: Ranking, query: Query, how: RetrievalMode) -> Scores:
    if how == "lexical":
        return ranking.lexical.scores(query.text)
    if how == "dense":
        return np.asarray(np.vecdot(ranking.vectors.values, query.vector), np.float32)
    return ranking.scores(query)


def _looked(
    memories: Sequence[Memory], lines: Sequence[_Lines], own: Scores, scores: Scores
) -> list[Looked]:
    ends = np.cumsum([len(one.turns) for one in lines]).tolist()
    parts = [scores[end - len(one.turns) : end] for end, one in zip(ends, lines, strict=True)]
    lowest = float(scores.min()) if len(scores) else 0.0
    best = standardize(np.array([part.max(initial=lowest) for part in parts], np.float32))
    segments = best + LENT * own
    found = [
        Looked(
            memory=memory,
            score=float(segment),
            turns=one.turns,
            scores=(part + LENT * segment).tolist(),
            costs=one.costs,
        )
        for memory, one, segment, part in zip(memories, lines, segments, parts, strict=True)
    ]
    return sorted(found, key=lambda one: (-one.score, one.memory.id))
