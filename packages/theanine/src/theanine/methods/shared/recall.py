"""Recall: build the query, retrieve memories, format them as parts and pack them into a budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from theanine.methods.base import Context
from theanine.methods.shared.config import RecallConfig
from theanine.recall.understand import build_query, query_text
from theanine.retrieval.budget import fit_budget, fit_prefix
from theanine.retrieval.scope_index import RetrievalMode, ScopeIndex
from theanine.text.formatting import format_dated_turns, format_memory
from theanine.types import LOCAL_MODEL, Memory, Part, Recollection, Turn, Utterance

_CANDIDATES_FOR_BUDGET = 200

PartFormatter = Callable[[Memory, float, Context], Awaitable[Part]]
"""Makes the part of a retrieved memory, given its score."""


def search_depth(retrieved: int, budget: int | None) -> int:
    """Return how many memories to retrieve: more than ``retrieved`` if a budget makes the cut."""
    return retrieved if budget is None else max(retrieved, _CANDIDATES_FOR_BUDGET)


async def retrieve(
    query: str,
    dialogue: Sequence[Utterance],
    k: int,
    context: Context,
    mode: RetrievalMode,
    *,
    kinds: Sequence[str] = (),
) -> list[tuple[Memory, float]]:
    """Return the ``k`` best memories for the query with their scores, best first.

    With ``kinds``, only live memories of these kinds are searched. A configured reranker reorders
    the best. An empty query gives no memories. Pinned memories, which are returned anyway, and
    those of turns in the dialogue are left out.
    """
    if context.pinned or context.current:
        pinned = {memory.id for memory in context.pinned}
        plain = replace(context, pinned=(), current=frozenset())
        depth = k + len(pinned) + len(context.current)  # a turn rarely supports several
        ranked = await retrieve(query, dialogue, depth, plain, mode, kinds=kinds)
        others = (
            found
            for found in ranked
            if found[0].id not in pinned and not context.shows(found[0].source_turns)
        )
        return list(islice(others, k))
    index = context.index
    if not query or not len(index):
        return []
    built = await build_query(query, dialogue, context, mode)
    # The mask is made after the last await: the index may have grown meanwhile.
    mask = index.live_mask(*kinds) if kinds else None
    reranking = context.reranking
    depth = k if reranking is None else max(k, reranking.top)
    ranked = index.search(built, depth, mode, among=mask)
    context.trace.record_memories("retrieval", ranked)
    if reranking is not None:
        ranked = (await reranking.rerank(query, ranked, lambda memory: memory.text))[:k]
        context.trace.record_memories("reranking", ranked)
    return ranked


def make_part(
    memory: Memory,
    score: float,
    text: str,
    turns: Sequence[Turn],
    made_by: str = LOCAL_MODEL,
) -> Part:
    """Make a part of one memory and the turns that support it."""
    return Part(
        text=text, memories=(memory,), source_turns=tuple(turns), score=score, made_by=made_by
    )


async def statement_part(memory: Memory, score: float, context: Context) -> Part:
    """Make a part of the memory's text under its date."""
    turns = await context.index.turns(memory.source_turns)
    return make_part(memory, score, format_memory(memory), turns)


async def excerpt_part(memory: Memory, score: float, context: Context) -> Part:
    """Make a part of the memory's source turns, quoted under their days."""
    turns = await context.index.turns(memory.source_turns)
    return make_part(memory, score, format_dated_turns(turns), turns)


def live_by_time(index: ScopeIndex, *kinds: str) -> list[Memory]:
    """Return the live memories of some kinds, or of all, in time order."""
    return sorted(index.live_memories(*kinds), key=lambda memory: memory.order)


def fit_parts(parts: Sequence[Part], budget: int | None) -> list[Part]:
    """Return the parts, given best first, that fit the budget, in the same order."""
    return fit_budget([(part, part.text) for part in parts], budget)


def pack(
    query: str,
    parts: Sequence[Part],
    budget: int | None,
    order: Callable[[Memory], Any] = lambda memory: memory.order,
    *,
    notes: Sequence[str] = (),
) -> Recollection:
    """Keep the parts, given best first, that fit the budget, and sort them by their first memories.

    They are in time order unless there is another ``order``, a sort key. ``notes`` are those of the
    recollection.
    """
    kept = fit_parts(parts, budget)
    kept.sort(key=lambda part: order(part.memories[0]))
    return Recollection(query=query, parts=tuple(kept), notes=tuple(notes))


async def recall_newest(
    dialogue: Sequence[Utterance],
    context: Context,
    budget: int | None,
    format_part: PartFormatter,
    *,
    kinds: Sequence[str] = (),
) -> Recollection:
    """Return all live memories in time order; a token budget keeps the newest.

    With ``kinds``, only those of these kinds.
    """
    newest = live_by_time(context.index, *kinds)[::-1]
    limit = context.token_budget(budget)
    kept = fit_prefix(((memory, format_memory(memory)) for memory in newest), limit)
    parts = [await format_part(memory, 0.0, context) for memory in reversed(kept)]
    return Recollection(query=query_text(dialogue, None), parts=tuple(parts))


async def recall_memories(
    dialogue: Sequence[Utterance],
    context: Context,
    config: RecallConfig,
    format_part: PartFormatter,
    *,
    kinds: Sequence[str] = (),
) -> Recollection:
    """Retrieve memories for the dialogue and return those that fit the budget, in time order.

    With ``kinds``, only live memories of these kinds are searched.
    """
    query = query_text(dialogue, config.query_turns, names=config.query_names)
    budget = context.token_budget(config.budget)
    k = search_depth(config.retrieved, budget)
    ranked = await retrieve(query, dialogue, k, context, config.retrieval, kinds=kinds)
    # Load all source turns with one query before the parts are made one by one.
    await context.index.turns([turn for memory, _ in ranked for turn in memory.source_turns])
    parts = [await format_part(memory, score, context) for memory, score in ranked]
    return pack(query, parts, budget)
