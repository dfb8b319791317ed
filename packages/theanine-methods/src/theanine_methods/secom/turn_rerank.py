"""Rerank the best segments by their single best turn.

Beyond the paper. A segment's own score averages over its turns. Here every turn is scored as a unit
of its own, by the same evidence; a segment then ranks by its best turn plus a share of its own
score. Where a token budget cuts, the turn scores also tell which of its turns to return.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.base import Vectors
from theanine.methods.base import Context
from theanine.recall.understand import build_query
from theanine.retrieval.query import Query
from theanine.retrieval.ranking import Ranking, Unit
from theanine.retrieval.scope_index import RetrievalMode, ScopeIndex
from theanine.retrieval.scoring import standardize
from theanine.text.formatting import format_turn
from theanine.tokenizer import count_tokens
from theanine.types import Memory, Turn, Utterance

SHARE = 0.2
"""Weight of a segment's own score, in its turns' scores and in its final score."""
_CACHE_SIZE = 20_000
"""Maximum number of segments of a scope whose turns' vectors are cached."""

Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankedSegment:
    """A segment with its turns' scores.

    Attributes:
        memory: the segment.
        score: its final score; higher is better.
        turns: its turns in order, without empty ones.
        turn_scores: one score for each turn.
        costs: tokens that each turn adds to the recollection, without its day.
    """

    memory: Memory
    score: float
    turns: Sequence[Turn]
    turn_scores: Sequence[float]
    costs: Sequence[int]


@dataclass(frozen=True, slots=True)
class _SegmentTurns:
    """A segment's turns without empty ones, with their vectors and costs."""

    turns: Sequence[Turn]
    vectors: Vectors
    costs: Sequence[int]


@dataclass(slots=True)
class _Cache:
    """Turns of one scope's segments by memory id, and the last ranking with its memory ids."""

    segments: dict[int, _SegmentTurns] = field(default_factory=dict[int, _SegmentTurns])
    ranking: tuple[tuple[int, ...], Ranking] | None = None


class TurnReranker:
    """Reranks segments by their turns; embeddings are cached as long as the scope's index lives."""

    def __init__(self) -> None:
        self._caches: WeakKeyDictionary[ScopeIndex, _Cache] = WeakKeyDictionary()

    async def rerank(
        self,
        candidates: Sequence[tuple[Memory, float]],
        query: str,
        dialogue: Sequence[Utterance],
        context: Context,
        mode: RetrievalMode,
    ) -> list[RerankedSegment]:
        """Return the candidates, at least one, best first; each comes with its own score."""
        ordered = sorted(candidates, key=lambda pair: (pair[0].session, pair[0].source_turns[:1]))
        memories = [memory for memory, _ in ordered]
        cache = self._caches.setdefault(context.index.whole, _Cache())
        segments = await self._load(memories, cache, context)
        ranking = _ranking(memories, segments, cache, context.index)
        turn_scores = _scores(ranking, await build_query(query, dialogue, context, mode), mode)
        own_scores = np.array([score for _, score in ordered], np.float32)
        return _combine(memories, segments, standardize(own_scores), standardize(turn_scores))

    async def _load(
        self, memories: Sequence[Memory], cache: _Cache, context: Context
    ) -> list[_SegmentTurns]:
        if len(cache.segments) > _CACHE_SIZE:
            cache.segments = {}
        segments = cache.segments  # another call may replace it during an await
        missing = [memory for memory in memories if memory.id not in segments]
        loaded = [
            [
                turn
                for turn in await context.index.turns(memory.source_turns)
                if turn.full_text.strip()
            ]
            for memory in missing
        ]
        texts = [turn.full_text for turns in loaded for turn in turns]
        vectors = await context.embedder.embed(texts) if texts else np.zeros((0, 0), np.float32)
        first = 0
        for memory, turns in zip(missing, loaded, strict=True):
            costs = [line_cost(format_turn(turn)) for turn in turns]
            segments[memory.id] = _SegmentTurns(turns, vectors[first : first + len(turns)], costs)
            first += len(turns)
        return [segments[memory.id] for memory in memories]


def _ranking(
    memories: Sequence[Memory],
    segments: Sequence[_SegmentTurns],
    cache: _Cache,
    index: ScopeIndex,
) -> Ranking:
    """Return a ranking of all turns of the segments; the last one is cached.

    In a small scope all segments are candidates each time.
    """
    ids = tuple(memory.id for memory in memories)
    if cache.ranking is None or cache.ranking[0] != ids:
        units = [
            Unit(
                text=format_turn(turn),
                session=turn.session,
                at=turn.at if turn.dated else None,
                speakers=(turn.speaker,),
                turn=turn.id,
            )
            for segment in segments
            for turn in segment.turns
        ]
        ranking = Ranking(index.ranking_config)
        if units:
            vectors = np.concatenate([segment.vectors for segment in segments if segment.turns])
            ranking.extend(units, vectors)
        cache.ranking = ids, ranking
    return cache.ranking[1]


def _scores(ranking: Ranking, query: Query, mode: RetrievalMode) -> Scores:
    if mode == "lexical":
        return ranking.lexical.scores(query.text)
    if mode == "dense":
        return np.asarray(np.vecdot(ranking.vectors.values, query.vector), np.float32)
    return ranking.scores(query)


def _combine(
    memories: Sequence[Memory],
    segments: Sequence[_SegmentTurns],
    own_scores: Scores,
    turn_scores: Scores,
) -> list[RerankedSegment]:
    ends = np.cumsum([len(segment.turns) for segment in segments]).tolist()
    by_segment = [
        turn_scores[end - len(segment.turns) : end]
        for end, segment in zip(ends, segments, strict=True)
    ]
    lowest = float(turn_scores.min()) if len(turn_scores) else 0.0
    best = standardize(np.array([part.max(initial=lowest) for part in by_segment], np.float32))
    final_scores = best + SHARE * own_scores
    reranked = [
        RerankedSegment(
            memory=memory,
            score=float(score),
            turns=segment.turns,
            turn_scores=(part + SHARE * score).tolist(),
            costs=segment.costs,
        )
        for memory, segment, score, part in zip(
            memories, segments, final_scores, by_segment, strict=True
        )
    ]
    return sorted(reranked, key=lambda segment: (-segment.score, segment.memory.id))


def line_cost(line: str) -> int:
    """Return the tokens that a line adds to a text.

    The tokenizer splits a line differently at the beginning of a text.
    """
    return count_tokens(f"-\n{line}") - count_tokens("-")
