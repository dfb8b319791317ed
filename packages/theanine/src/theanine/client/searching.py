"""Search: the turns and memories that match a question best, one by one, with their scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from anyio import to_thread

from theanine.client.hiding import find_hidden
from theanine.folding import fold
from theanine.store.base import Store
from theanine.types import STATE, Memory, Recollection, Scope, Turn

if TYPE_CHECKING:
    from theanine.methods.base import Context
    from theanine.retrieval.candidates import Candidate
    from theanine.retrieval.trace import CandidateKey, RecordedTrace
    from theanine.retrieval.word_index import WordIndexes, WordSearch


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A turn or a memory that matches a search.

    Attributes:
        turn: the turn that matches; None where a memory does.
        memories: the memory that matches; of a turn, the statements in effect that it supports,
            those with the fewest source turns first; none in an exact search.
        text: the passage of the turn, or the text of the memory, that matches best.
        score: higher is better; the scale is that of the method; 1 in an exact search.
        relevance: probability that it is evidence for the question, 0 to 1; None where the method
            does not estimate it, and in an exact search.
    """

    turn: Turn | None
    memories: tuple[Memory, ...]
    text: str
    score: float
    relevance: float | None


class SearchHits(list[SearchHit]):
    """Hits, the best ones of ``found``."""

    def __init__(self, hits: Iterable[SearchHit], found: int) -> None:
        super().__init__(hits)
        self.found = found


async def find_words(
    indexes: WordIndexes,
    store: Store,
    scope: Scope,
    wanted: WordSearch,
    limit: int,
    now: datetime,
) -> SearchHits:
    """Return the turns that have all of some words, in order of time."""
    state = await store.scope_version(scope)
    hidden = await find_hidden(store, scope, state, now)
    wanted = replace(wanted, bounds=replace(wanted.bounds, hidden=hidden))
    index = await indexes.get(scope, state)
    ids = await to_thread.run_sync(index.find, wanted)
    where = wanted.bounds.where
    turns = {turn.id: turn for turn in await store.turns(scope, ids=ids if where else ids[:limit])}
    found = [turns[id] for id in ids if id in turns and where.matches(turns[id].metadata)]
    words = set(fold(wanted.words).split())
    hits = [_hit(turn, _passage(turn, words), (), 1.0, None) for turn in found[:limit]]
    return SearchHits(hits, len(found) if where else len(ids))


def _passage(turn: Turn, words: set[str]) -> str:
    """Return the first passage of a turn that has the most of some words."""
    from theanine.retrieval.passages import split_passages

    text = turn.full_text
    passages = [text[start:end].strip() for start, end in split_passages(text)]
    return max(passages, key=lambda each: sum(word in fold(each) for word in words))


async def find_hits(
    trace: RecordedTrace, recollection: Recollection, context: Context, limit: int
) -> SearchHits:
    """Return the best candidates of a recall that was traced, each turn and memory once."""
    last = "relevance" if "relevance" in trace.stages else next(reversed(trace.stages), "")
    stage = trace.stages.get(last, {})
    ranked = sorted(stage.items(), key=lambda found: -_goodness(*found[1]))
    best: dict[tuple[int, int], tuple[CandidateKey, float, float | None]] = {}
    for key, (score, relevance) in ranked:
        best.setdefault(key[1:], (key, score, relevance))
    chosen = list(best.values())[:limit]
    if trace.log is not None:
        return SearchHits(await _of_log(chosen, trace, context), len(best))
    found = {
        memory.id: memory
        for memory in await context.index.read_memories([key[2] for key, *_ in chosen])
    }
    hits = [
        _hit(found[key[2]], found[key[2]].text, (), score, relevance)
        for key, score, relevance in chosen
        if key[2] in found
    ]
    if trace.stages:
        return SearchHits(hits, len(best))
    # The method ranks nothing, such as one that returns a summary.
    hits = [
        _hit(memory, memory.text, (), part.score, part.relevance)
        for part in recollection.parts
        if not part.pinned  # whatever is asked
        for memory in part.memories
    ]
    return SearchHits(hits[:limit], len(hits))


async def _of_log(
    chosen: Sequence[tuple[CandidateKey, float, float | None]],
    trace: RecordedTrace,
    context: Context,
) -> list[SearchHit]:
    log = trace.log
    assert log is not None
    candidates: dict[int, Candidate] = await log.load(key[0] for key, *_ in chosen)
    supported = log.memories_of_turns([key[1] for key, *_ in chosen if key[1]])
    _, memories = await log.read((), [each for ids in supported.values() for each in ids])
    marked = context.index.marks
    hits: list[SearchHit] = []
    for key, score, relevance in chosen:
        if (candidate := candidates.get(key[0])) is None:  # erased since the index was read
            continue
        own = [
            memories[each]
            for each in supported.get(key[1], ())
            if each in memories and each not in marked and memories[each].kind != STATE
        ]
        own.sort(key=lambda memory: (len(memory.source_turns), memory.id))
        hits.append(_hit(candidate.owner, candidate.text, own, score, relevance))
    return hits


def _goodness(score: float, relevance: float | None) -> float:
    return score if relevance is None else relevance


def _hit(
    owner: Turn | Memory,
    text: str,
    supported: Sequence[Memory],
    score: float,
    relevance: float | None,
) -> SearchHit:
    is_turn = isinstance(owner, Turn)
    return SearchHit(
        turn=owner if is_turn else None,
        memories=tuple(supported) if is_turn else (owner,),
        text=text,
        score=score,
        relevance=relevance,
    )
