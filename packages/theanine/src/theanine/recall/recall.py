"""The path of a recall: understand, gather, rank, resolve, select, lay out.

Beyond the paper. Everything that was said is a candidate, remembered or not. States of one matter
are returned as one part, the newest first; everything else is grouped by session and day, what is
linked together. All of it shares one token budget.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

import numpy as np

from theanine.errors import ModelError
from theanine.recall.context import RecallContext
from theanine.recall.lay_out import LineGroup, Relations, lay_out
from theanine.recall.policy import Policy
from theanine.recall.rank import period, rank
from theanine.recall.resolve import Matter, Resolved, resolve
from theanine.recall.select import Line, select_lines, spread
from theanine.recall.spelling import is_common_word, with_said_spelling
from theanine.recall.states import tell_states
from theanine.recall.understand import Question, understand
from theanine.retrieval.candidates import CandidateIndex, RankedCandidate
from theanine.retrieval.languages import guess_language, stem
from theanine.retrieval.lexical import content_words
from theanine.retrieval.log_index import LogIndex
from theanine.retrieval.trace import RecallTrace
from theanine.types import LOCAL_MODEL, Memory, Part, Recollection, Timeline, Turn, Utterance

CLOSEST = 3
"""Best matters by which the language of what comes closest is told."""
RELEVANT = 0.1
"""Relevance from which something tells of what a question asks besides its time or session."""
MOST_OFFERED = 8_000
"""Tokens of the lines of which a model chooses, where the budget sets no limit."""
LONG_WORD = 6
"""Letters from which a word is taken for a form of another that differs in a letter: "allergy" of
"allergic"."""


Chooser = Callable[[Sequence[Line]], Awaitable[Sequence[Line]]]
"""Returns the lines that a reply needs, the most important first."""


async def recall_from_log(
    dialogue: Sequence[Utterance],
    context: RecallContext,
    policy: Policy,
    choose: Chooser | None = None,
) -> Recollection:
    """Return the best passages and statements that fit the budget, with their timelines.

    What ``choose`` returns of more lines than that comes instead of what is relevant enough; if it
    raises ModelError, that is noted, and it is as without it.
    """
    log = await context.index.log(context.embedder, wait=False)
    context = replace(context, embedder=log.embedder)
    options, trace = context.options, context.trace
    question = understand(
        dialogue, context, log.candidates, turns=policy.query_turns, names=policy.query_names
    )
    asked = question.text
    if not asked or not len(log):
        return Recollection(query=asked)
    if question.small_talk and not options.small_talk and options.min_relevance is None:
        trace.stop("small_talk")
        return Recollection(query=asked)
    question = await with_said_spelling(question, log)
    resolved = await _resolved(question, dialogue, log, context, policy)
    if not choose:
        return await _relevant(resolved, question, log, context, policy)
    try:
        return await _chosen(choose, resolved, question, log, context, policy)
    except ModelError as error:
        note = f"the model chose nothing, so these are the most relevant lines: {error}"
        return replace(await _relevant(resolved, question, log, context, policy), notes=(note,))


async def _resolved(
    question: Question,
    dialogue: Sequence[Utterance],
    log: LogIndex,
    context: RecallContext,
    policy: Policy,
) -> Resolved:
    """Return all that may bear on a question, the states of one matter together."""
    trace = context.trace
    if question.alone or question.of_session:
        ranked = await _of_the_period(question, dialogue, log, context)
        trace.period(log, ranked)
        matters = tuple(
            Matter(states=(found,), score=found.score, relevance=found.relevance)
            for found in ranked
        )
        return Resolved(matters=matters, notes={})
    ranked = await rank(question, dialogue, log, context)
    corrected = context.index.corrected
    ranked = _with_states(ranked, question, log, corrected, trace)
    query = next(iter(context.query_vectors.values()))[0]
    resolved = await resolve(
        ranked,
        query,
        log,
        corrected,
        links=policy.links and question.order is None and not question.before,
        closed=bool(question.days),
        of_a_time=question.of_a_time,
    )
    trace.record("states", _states(resolved.matters))
    return resolved


async def _relevant(
    resolved: Resolved,
    question: Question,
    log: LogIndex,
    context: RecallContext,
    policy: Policy,
) -> Recollection:
    """Return what is relevant enough, as far as it fits the budget."""
    options, trace, matters = context.options, context.trace, resolved.matters
    best = max((matter.relevance for matter in matters), default=None)
    floor = options.min_relevance
    if floor is None:
        is_foreign = question.asks and await _is_foreign(question, matters, log)
        floor = _default_floor(question, log.candidates, policy, is_foreign=is_foreign)
    result = Recollection(query=question.text, best_relevance=best, min_relevance=floor)
    if best is None or best < floor:
        trace.record("relevance", ())
        return result
    if options.min_relevance is not None:
        matters = [matter for matter in matters if matter.relevance >= options.min_relevance]
    elif question.spread:
        # The user's own questions tell nothing, so their relevances say little.
        least = 0 if question.asked else policy.weak_of_several * best
        matters = spread([matter for matter in matters if matter.relevance >= least], log)
    elif not question.alone:
        matters = _enough(matters, log, policy)
    trace.record("relevance", _states(matters))
    matters = await _without_pinned(matters, context, log)
    budget = context.token_budget(policy.budget)
    lines = await select_lines(
        matters, log, budget, resolved.notes, context.current, options.present
    )
    return replace(result, parts=await _parts(lines, log, budget, policy, trace))


async def _chosen(
    choose: Chooser,
    resolved: Resolved,
    question: Question,
    log: LogIndex,
    context: RecallContext,
    policy: Policy,
) -> Recollection:
    """Return what is chosen of the most relevant lines, however relevant they are."""
    options, trace = context.options, context.trace
    least = options.min_relevance or 0.0
    matters = [matter for matter in resolved.matters if matter.relevance >= least]
    if question.spread:
        matters = spread(matters, log)
    matters = await _without_pinned(matters, context, log)
    budget = context.token_budget(policy.budget)
    offered = MOST_OFFERED if budget is None else max(policy.offered, 2 * budget)
    lines = await select_lines(
        matters, log, offered, resolved.notes, context.current, options.present
    )
    chosen = await choose(lines) if lines else ()
    for number, line in enumerate(chosen):  # the model's order counts where parts are limited
        line.score = -float(number)
    left_out = {_owner(line) for line in lines}.difference(map(_owner, chosen))
    trace.record(
        "model",
        [found for found in _states(matters) if (found.turn, found.memory) not in left_out],
    )
    return Recollection(
        query=question.text,
        best_relevance=max((matter.relevance for matter in resolved.matters), default=None),
        min_relevance=least,
        parts=await _parts(chosen, log, budget, policy, trace),
    )


def _owner(line: Line) -> tuple[int, int]:
    """Return the numbers of its turn and memory; one of them is 0."""
    own = line.owner
    return (own.id, 0) if isinstance(own, Turn) else (0, own.id)


async def _parts(
    lines: Sequence[Line], log: LogIndex, budget: int | None, policy: Policy, trace: RecallTrace
) -> tuple[Part, ...]:
    told = {memory.id for line in lines for memory in line.memories}
    relations: Relations = await _claimed(log, told) if policy.links else {}
    groups = lay_out(lines, relations, budget)
    parts = [await _part(group, relations, log, trace) for group in groups]
    return tuple(sorted(parts, key=_part_order))


async def _of_the_period(
    question: Question, dialogue: Sequence[Utterance], log: LogIndex, context: RecallContext
) -> Sequence[RankedCandidate]:
    """Return what was said at the time, or in the session, of the question.

    What is most relevant comes first where more than a time is asked for; of a holiday, what people
    said of it earlier and later, too.
    """
    said = period(question, log, context)
    if question.alone and not question.of_holiday:
        return said
    within = {found.position for found in said}
    ranked = await rank(question, dialogue, log, context)
    relevant = [
        found
        for found in ranked
        if found.relevance >= RELEVANT and (question.of_holiday or found.position in within)
    ]
    first = {found.position for found in relevant}
    if question.of_session and relevant:
        return relevant
    return [*relevant, *(found for found in said if found.position not in first)]


def _with_states(
    ranked: Sequence[RankedCandidate],
    question: Question,
    log: LogIndex,
    corrected: Collection[int],
    trace: RecallTrace,
) -> Sequence[RankedCandidate]:
    """Return candidates with the sentences of what holds now, where a model wrote any."""
    if not log.has_states:
        return ranked
    ranked = tell_states(ranked, log, corrected, of_a_time=question.of_a_time)
    trace.record("sentences", ranked)
    return ranked


async def _is_foreign(question: Question, matters: Sequence[Matter], log: LogIndex) -> bool:
    """Whether a question is in another language than all that comes closest."""
    best = [found.position for found in _states(matters[:CLOSEST])]
    loaded = await log.load(best)
    language = guess_language(question.text)
    return bool(loaded) and all(guess_language(each.text) != language for each in loaded.values())


def _default_floor(
    question: Question, candidates: CandidateIndex, policy: Policy, *, is_foreign: bool
) -> float:
    """Return the relevance that the best candidate must have."""
    words = content_words(question.text)
    if not words:  # "Where is it?" has no word by which to judge
        return 0.0
    if not question.asks:
        return policy.min_relevance_of_told
    if is_foreign:
        return policy.min_relevance_of_foreign
    if question.asked and any(map(candidates.knows, words)):
        return policy.min_relevance
    if any(map(candidates.tells, words)) or any(
        candidates.tells(stem(word), similar=True) for word in words if len(word) >= LONG_WORD
    ):
        return policy.min_relevance
    is_word = guess_language(question.text) != "en" or any(
        is_common_word(word) or candidates.knows(word) for word in words
    )
    return policy.min_relevance_of_unknown if is_word else policy.min_relevance_of_nonsense


def _states(matters: Sequence[Matter]) -> list[RankedCandidate]:
    return [found for matter in matters for found in matter.states]


def _enough(matters: Sequence[Matter], log: LogIndex, policy: Policy) -> list[Matter]:
    """Return the best matters, until the rest holds next to nothing of all relevance.

    What the user always wants holds whatever is asked, and stays.
    """
    relevances = np.array([matter.relevance for matter in matters])
    candidates = log.candidates
    # A question that was asked before is very like this one, and tells nothing.
    asks = candidates.asks[[matter.states[0].position for matter in matters]]
    telling = np.where(asks, 0, relevances)
    rest = relevances[::-1].cumsum()[::-1]
    least = min(policy.weak, policy.weak_in_all / max(len(log), 1))
    kept = rest >= policy.enough * relevances.sum()
    kept &= relevances >= least * telling.max(initial=0)
    numbers = [number for number, matter in enumerate(matters) for _ in matter.states]
    positions = [found.position for found in _states(matters)]
    kept[np.array(numbers)[candidates.standing[positions]]] = True
    return [matter for matter, is_kept in zip(matters, kept.tolist(), strict=True) if is_kept]


async def _without_pinned(
    matters: Sequence[Matter], context: RecallContext, log: LogIndex
) -> list[Matter]:
    """Leave out what pinned memories tell, which are returned anyway, and what they replaced."""
    if not context.pinned:
        context.trace.record("pinned", _states(matters))
        return [*matters]
    told = {own.position for memory in context.pinned for own in await log.saying(memory.id)}
    others = [
        replace(matter, states=tuple(own for own in matter.states if own.position not in told))
        for matter in matters
        if not (matter.is_claimed and matter.states[0].position in told)
    ]
    left = [matter for matter in others if matter.states]
    context.trace.record("pinned", _states(left))
    return left


async def _claimed(log: LogIndex, memories: set[int]) -> Relations:
    """Return the relations of memories, with their type where a model has judged it.

    Without a model the type of a link is too often wrong to be told.
    """
    relations = log.relations(memories)
    links = {(link.older, link.newer): link for link in await log.links([*relations])}
    return {
        pair: relation if pair in links and links[pair].made_by != LOCAL_MODEL else None
        for pair, relation in relations.items()
    }


async def _part(
    group: LineGroup,
    relations: Relations,
    log: LogIndex,
    trace: RecallTrace,
) -> Part:
    """Return a group of lines as a part."""
    lines, path = group.lines, group.path
    memories = {memory.id: memory for line in lines for memory in line.memories}
    timeline = None
    if path and (links := await log.links([*pairwise(path)])):
        timeline = Timeline(
            memories=tuple(memories[memory] for memory in path),
            links=tuple(links),
            retrieved=max(path, key=lambda memory: path[memory].score),
        )
    on_path = {memory: memories[memory] for memory in path}
    part = Part(
        text=str(group),
        memories=tuple((on_path | memories).values()),
        source_turns=await _source_turns(lines, log),
        timeline=timeline,
        score=max(line.score for line in lines),
        relevance=max(line.relevance for line in lines),
        made_by=LOCAL_MODEL,
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
