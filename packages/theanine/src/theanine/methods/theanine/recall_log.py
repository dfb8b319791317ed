"""Recall from the whole log: passages of turns and a model's statements, joined into timelines.

Beyond the paper. Everything that was said is a candidate, remembered or not. The best one brings in
what it changed from or into. What is linked is returned as one part, in order of time; everything
else is grouped by session and day. All of it shares one token budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import pairwise

import numpy as np

from theanine.llm.gather import gather
from theanine.methods.base import Context
from theanine.methods.shared.recall import build_query, fit_parts, query_text
from theanine.methods.theanine.accounts import TimelineAccounts
from theanine.methods.theanine.adjust_ranking import with_changes, without_echoes
from theanine.methods.theanine.arrange_lines import (
    LineGroup,
    Relations,
    arrange_lines,
)
from theanine.methods.theanine.config import TheanineConfig
from theanine.methods.theanine.corrections import (
    add_corrections,
    correction_notes,
    find_corrected,
)
from theanine.methods.theanine.recall_lines import Line, select_lines
from theanine.retrieval.candidates import RankedCandidate, embedded_text
from theanine.retrieval.lexical import content_words
from theanine.retrieval.log_index import LogIndex
from theanine.retrieval.query import is_small_talk
from theanine.retrieval.rerank import RerankConfig
from theanine.retrieval.scope_index import ScopeIndex
from theanine.retrieval.trace import RecallTrace
from theanine.types import (
    LOCAL_MODEL,
    Memory,
    Part,
    Recollection,
    Timeline,
    Turn,
    Utterance,
)

CALIBRATED = 700
"""Turns of a memory up to which the default floor of relevance holds as it is.

Each further turn makes the evidence of a question less probable, so the floor falls in proportion.
See docs/benchmarks/relevance.md."""
WEAK = 0.001
"""Share of the best candidate's relevance below which others are left out."""


async def recall_from_log(
    dialogue: Sequence[Utterance], context: Context, config: TheanineConfig
) -> Recollection:
    """Return the best passages and statements that fit the budget, with their timelines."""
    query = query_text(dialogue, config.query_turns, names=config.query_names)
    log = await context.index.log(context.embedder)
    candidates = log.candidates
    if not query or not len(log):
        return Recollection(query=query)
    options, trace = context.options, context.trace
    asking = dialogue[-config.query_turns :] if config.query_turns else dialogue
    if options.min_relevance is None and all(
        is_small_talk(candidates.without_speakers(turn.text)) for turn in asking
    ):
        trace.stop("small_talk")
        return Recollection(query=query)
    bounds = context.index if options.bounds else log
    ranked = await _rank(query, dialogue, log, bounds, context, config)
    corrected = await find_corrected(context.index, log)
    if corrected:
        ranked = await add_corrections(ranked, corrected, log, bounds)
        trace.record("corrections", ranked)
    best = max((found.relevance for found in ranked), default=None)
    floor = options.min_relevance
    if floor is None:
        floor = _default_floor(query, log, config)
    result = Recollection(query=query, best_relevance=best, min_relevance=floor)
    if best is None or best < floor:
        trace.record("relevance", ())
        return result
    if options.min_relevance is not None:
        ranked = [found for found in ranked if found.relevance >= options.min_relevance]
    else:  # what the user always wants holds whatever is asked
        standing = candidates.standing[[found.position for found in ranked]].tolist()
        ranked = [
            found
            for found, stands in zip(ranked, standing, strict=True)
            if stands or found.relevance >= WEAK * best
        ]
    trace.record("relevance", ranked)
    for memory in context.pinned:
        told = {own.position for own in await log.saying(memory.id)}
        ranked = [found for found in ranked if found.position not in told]
    trace.record("pinned", ranked)
    budget = context.token_budget(config.budget)
    notes = correction_notes(corrected)
    lines = await select_lines(ranked, log, bounds, budget, notes, context.current)
    told = {memory.id for line in lines for memory in line.memories}
    relations: Relations = bounds.relations(told) if config.timelines else {}
    groups = arrange_lines(lines, relations, budget)
    accounts = None
    if context.chat and config.refine:
        accounts = TimelineAccounts(context.chat, dialogue, whole=config.whole)
    calls = [partial(_part, group, relations, log, bounds, accounts, trace) for group in groups]
    # Tasks cost time and only a model call has something to wait for.
    parts = await gather(calls) if context.chat else [await call() for call in calls]
    parts.sort(key=lambda part: -part.score)
    if context.chat:  # a refined timeline can be longer than its lines
        parts = fit_parts(parts, budget)
    notes_of_recall = accounts.notes if accounts else ()
    return replace(result, parts=tuple(sorted(parts, key=_part_order)), notes=notes_of_recall)


def _default_floor(query: str, log: LogIndex, config: TheanineConfig) -> float:
    """Return the relevance that the best candidate must have in a memory of this size."""
    if not content_words(query):  # "Where is it?" has no word by which to judge
        return 0.0
    turns = log.candidates.turns
    count = int(turns[0] != 0) + np.count_nonzero(turns[1:] != turns[:-1])
    return config.min_relevance * CALIBRATED / max(count, CALIBRATED)


async def _rank(
    query: str,
    dialogue: Sequence[Utterance],
    log: LogIndex,
    bounds: LogIndex | ScopeIndex,
    context: Context,
    config: TheanineConfig,
) -> list[RankedCandidate]:
    """Return the candidates within the bounds, best first, and with them what they changed."""
    candidates = log.candidates
    built = await build_query(
        query,
        dialogue,
        context,
        "hybrid",
        lambda text: embedded_text(candidates.without_speakers(text), context.embedder),
    )
    mask = context.index.candidate_mask(candidates)
    ranked = [
        found
        for found in candidates.search(built, mask, without_turns=context.current)
        if not found.memory or bounds.includes(found.memory)
    ]
    trace = context.trace
    trace.search(log, built, ranked)
    if context.reranking is not None:
        ranked = await _reranked(query, ranked, log, context.reranking)
        trace.record("reranking", ranked)
    ranked = without_echoes(ranked, candidates)
    trace.record("echoes", ranked)
    if config.timelines:
        ranked = await with_changes(ranked, log, bounds)
        trace.record("changes", ranked)
    return ranked


async def _reranked(
    query: str, ranked: Sequence[RankedCandidate], log: LogIndex, reranking: RerankConfig
) -> list[RankedCandidate]:
    """Return the candidates in the order of a configured reranker, with its scores."""
    loaded = await log.load(found.position for found in ranked)
    reordered = await reranking.rerank(
        query,
        [(found, found.score) for found in ranked if found.position in loaded],
        lambda found: loaded[found.position].text,
    )
    return [replace(found, score=score) for found, score in reordered]


async def _part(
    group: LineGroup,
    relations: Relations,
    log: LogIndex,
    bounds: LogIndex | ScopeIndex,
    accounts: TimelineAccounts | None,
    trace: RecallTrace,
) -> Part:
    """Return a group of lines as a part; what is linked as a model's account, if there is one."""
    lines, path = group.lines, group.path
    memories = {memory.id: memory for line in lines for memory in line.memories}
    timeline = account = None
    if path and (links := await bounds.links([*pairwise(path)])):
        timeline = Timeline(
            memories=tuple(memories[memory] for memory in path),
            links=tuple(links),
            retrieved=max(path, key=lambda memory: path[memory].score),
        )
        account = await accounts.write(timeline) if accounts else None
    if account:
        linked = set(path.values())
        others = LineGroup([line for line in lines if line not in linked], {}, {})
        text = "\n".join(filter(None, [account, str(others)]))
    else:
        text = str(group)
    on_path = {memory: memories[memory] for memory in path}
    part = Part(
        text=text,
        memories=tuple((on_path | memories).values()),
        source_turns=await _source_turns(lines, log),
        timeline=timeline,
        score=max(line.score for line in lines),
        relevance=max(line.relevance for line in lines),
        made_by=accounts.model if account and accounts else LOCAL_MODEL,
    )
    for line in lines:
        trace.record_part(part, line.passages, line.repetitions)
    return part


def _part_order(part: Part) -> tuple[datetime, int]:
    """Sort key of parts: the time of what they begin with."""
    first = [(turn.at, turn.id) for turn in part.source_turns[:1]]
    return min(first + [memory.order for memory in part.memories[:1]])


async def _source_turns(lines: Sequence[Line], log: LogIndex) -> tuple[Turn, ...]:
    turns = {line.owner.id: line.owner for line in lines if isinstance(line.owner, Turn)}
    turns |= {turn.id: turn for line in lines for turn in line.repetitions}
    of_statements = {
        turn for line in lines if isinstance(line.owner, Memory) for turn in line.owner.source_turns
    }
    if missing := of_statements - set(turns):
        turns |= {turn.id: turn for turn in await log.turns(missing)}
    return tuple(sorted(turns.values(), key=lambda turn: (turn.at, turn.id)))
