"""Rank what was said by one relevance, and lower what is of another time, thing or person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from math import log

import numpy as np
from numpy.typing import NDArray

from theanine.recall.context import RecallContext
from theanine.recall.identifiers import (
    PHONE,
    find_identifiers,
    is_of_another,
    is_other,
    is_unknown,
    is_unknown_name,
)
from theanine.recall.naming import naming_pattern
from theanine.recall.understand import Question, build_query
from theanine.retrieval import cue_words
from theanine.retrieval.calendar_days import DateRange
from theanine.retrieval.candidates import CandidateIndex, RankedCandidate, embedded_text
from theanine.retrieval.log_index import LogIndex
from theanine.retrieval.rerank import RerankConfig
from theanine.retrieval.temporal import find_date_ranges, find_times
from theanine.retrieval.trace import NO_TRACE
from theanine.types import Utterance

NO_EVIDENCE = 1e-3
"""Share of its relevance that is left to what is of another thing, person or time."""
NAMED = 0.5
"""Power of the relevance of what names the number or code of the question, or is the kind of speech
that it asks for: surely it is meant."""
ASKED = 0.25
"""The same for the user's own questions, which tell nothing, if it asks for them."""
OTHERS = 0.3
"""Share of its relevance that is left to what others said, where somebody's words are asked for."""
ANSWERING = 0.8
"""Share of a passage's relevance that the answer to it has, and that the next and former words of
its speaker have, where such words are asked for."""
READ = 60
"""Best candidates whose texts are read for identifiers and dates."""
EARLIER = 0.5
"""Share of the relevance of what was told before a time, and may have held then."""
OF_EVENT, AFTER_EVENT = 0.8, 0.1
"""Shares of the relevance of an event before which something is to have been so, which may tell
that, too, and of what was told after it."""
AHEAD = 3
"""Factor for the distance of a future day, where the year of a named time is guessed."""
LONG = 6
"""Days after its first one of a time of which somebody asks how something was."""
EVENT = 0.2
"""Relevance from which something that was said is taken for an event of which a question speaks."""
DAYS_BEFORE, DAYS_AFTER = 1, 7
"""Days around a time in which people talk of what happened then."""
COMPARABLE = 0.4
"""Share of the best relevance from which candidates are put in order of time, where one is asked
for."""
ECHOES = 20
"""Best candidates among which the assistant's echoes of the user are looked for."""
ECHOED = 60
"""Best candidates among which the user's own words are looked for."""

REFERRING = 10
"""Best candidates that are read for what they refer to."""
ANSWERS = 3
"""Best candidates with which the question that they answer is shown, which a pronoun refers to."""
ANTECEDENT, FOLLOWING = 0.3, 0.1
"""Shares of its relevance that what it refers to, and what refers to it, have at least."""
_REFERS = re.compile(
    r"\W*(?:it|its|that|this|these|those|he|she|they|him|her|his|them|their|both)\b", re.IGNORECASE
)


def rated(found: RankedCandidate, relevance: float) -> RankedCandidate:
    """Return a candidate with another relevance, and the score that belongs to it."""
    clipped = min(max(relevance, 1e-12), 1 - 1e-7)
    return replace(found, relevance=relevance, score=log(clipped / (1 - clipped)))


async def rank(
    question: Question,
    dialogue: Sequence[Utterance],
    log: LogIndex,
    context: RecallContext,
) -> list[RankedCandidate]:
    """Return the candidates within the bounds, in order of their relevance."""
    candidates, trace = log.candidates, context.trace
    built = await build_query(
        question.text,
        dialogue,
        context,
        "hybrid",
        lambda text: embedded_text(candidates.without_speakers(text), context.embedder),
    )
    mask = context.index.candidate_mask(candidates)
    ranked = [
        found
        for found in candidates.search(built, mask, without_turns=context.current)
        if not found.memory or log.includes(found.memory)
    ]
    trace.search(log, built, ranked)
    if context.reranking is not None:
        ranked = await _reranked(question.text, ranked, log, context.reranking)
        trace.record("reranking", ranked)
    if question.identifiers or question.names or question.owned:
        ranked = await _of_the_same(question, ranked, log)
        trace.record("identifiers", ranked)
    if question.days:
        ranked = await _of_the_time(question, ranked, log)
        trace.record("time", ranked)
    if question.before:
        ranked = await _before_the_event(question, ranked, dialogue, log, context)
        trace.record("time", ranked)
    if question.of_assistant or question.asked or question.of_speaker:
        ranked = _of_the_speech(question, ranked, candidates)
        trace.record("speech", ranked)
    if question.name_of:
        ranked = await _of_the_name(question.name_of, ranked, log)
        trace.record("names", ranked)
    if question.order and not question.spread:
        ranked = _in_order(question, ranked, candidates)
        trace.record("order", ranked)
    ranked = _without_echoes(ranked, candidates)
    trace.record("echoes", ranked)
    ranked = await _with_antecedents(ranked, log)
    trace.record("antecedents", ranked)
    return ranked


def period(question: Question, log: LogIndex, context: RecallContext) -> list[RankedCandidate]:
    """Return all that was said at the time that a question asks for, and for nothing else.

    Without a time, that is the latest session, besides the present one, or the earliest. The newest
    sessions come first, should not all fit, each with the user's words before others, in their
    order; of the latest session alone, its end. The scores are in order of time.
    """
    candidates = log.candidates
    kept = candidates.turns > 0
    mask = context.index.candidate_mask(candidates)
    if mask is not None:
        kept &= mask
    kept &= ~candidates.notices
    present = np.isin(candidates.turns, [*context.current])
    kept &= ~present
    if question.days:
        kept &= _is_within(candidates.days, question.days)
    at = np.flatnonzero(kept)
    if not question.days and len(at):
        others = at[~np.isin(candidates.sessions[at], candidates.sessions[present])]
        at = others if len(others) else at
        orders = candidates.orders[at]
        chosen = orders.argmax() if question.order == "newest" else orders.argmin()
        at = at[candidates.sessions[at] == candidates.sessions[at[chosen]]]
    backwards = not question.days and question.order == "newest"
    orders = candidates.orders[at]
    starts: dict[int, int] = {}
    for session, order in zip(candidates.sessions[at].tolist(), orders.tolist(), strict=True):
        starts[session] = min(order, starts.get(session, order))
    first = np.array([starts[session] for session in candidates.sessions[at].tolist()])
    keys = (-orders if backwards else orders, ~candidates.by_user[at], -first)
    at = at[np.lexsort(keys)] if len(at) else at
    return [
        RankedCandidate(position, int(candidates.turns[position]), 0, -float(order), 1.0)
        for position, order in zip(at.tolist(), candidates.orders[at].tolist(), strict=True)
    ]


def _is_within(
    days: NDArray[np.float32], ranges: Sequence[tuple[int, int]], before: int = 0, after: int = 0
) -> NDArray[np.bool_]:
    """Return which days are in a range, or a few days around it; unknown ones are not."""
    within = np.zeros(len(days), np.bool_)
    for first, last in ranges:
        within |= (days >= first - before) & (days <= last + after)
    return within


async def _of_the_same(
    question: Question, ranked: Sequence[RankedCandidate], log: LogIndex
) -> list[RankedCandidate]:
    """Lower what is of another number, code or person than the question names.

    What names the same number or code is raised.
    """
    candidates = log.candidates
    if any(is_unknown_name(name, candidates) for name in question.names) or any(
        is_unknown(asked, candidates) for asked in question.identifiers
    ):
        return [rated(found, found.relevance * NO_EVIDENCE) for found in ranked]
    if not (question.identifiers or question.owned):
        return list(ranked)
    loaded = await log.load(found.position for found in ranked[:READ])
    told = {position: find_identifiers(each.text) for position, each in loaded.items()}
    unknown = any(
        not any(asked.is_same(own) for each in told.values() for own in each)
        for asked in question.identifiers
        if asked.may_be_apart and (asked.shape == PHONE or not candidates.tells(asked.key))
    )
    result: list[RankedCandidate] = []
    for found in ranked:
        own = told.get(found.position, ())
        text = loaded[found.position].text if found.position in loaded else ""
        if unknown or is_other(question.identifiers, own):
            found = rated(found, found.relevance * NO_EVIDENCE)
        elif question.owned and is_of_another(question.owned, text, question.language):
            found = rated(found, found.relevance * OTHERS)
        elif any(asked.is_same(each) for asked in question.identifiers for each in own):
            found = rated(found, found.relevance**NAMED)
        result.append(found)
    return _sorted(result)


def _of_the_speech(
    question: Question, ranked: Sequence[RankedCandidate], candidates: CandidateIndex
) -> list[RankedCandidate]:
    """Raise whose words are asked for, and lower others; the words go on and answer.

    What was said to a relevant passage, and around one of the same speaker, is relevant as well.
    """
    at = np.array([found.position for found in ranked], np.int64)
    meant = _are_meant(question, at, candidates)
    power = ASKED if question.asked and not question.of_assistant else NAMED
    best = {
        found.position: rated(
            found, found.relevance**power if is_meant else OTHERS * found.relevance
        )
        for found, is_meant in zip(ranked, meant.tolist(), strict=True)
    }
    said = {*at[meant].tolist()}
    for found in ranked[:REFERRING]:
        least = ANSWERING * found.relevance
        near = [candidates.reply_to(found.position)]
        if found.position in said:
            near = [candidates.said_next(found.position, step) for step in (-1, 1)]
        for other in near:
            if other is None or other not in said or best[other].relevance >= least:
                continue
            if question.asked or not candidates.asks[other]:
                best[other] = rated(best[other], least)
    return _sorted(best.values())


async def _of_the_time(
    question: Question, ranked: Sequence[RankedCandidate], log: LogIndex
) -> list[RankedCandidate]:
    """Return what was said about the time of the question, or names it.

    How something was then may have been told earlier.
    """
    days = log.candidates.days[[found.position for found in ranked]]
    within = _is_within(days, question.days, DAYS_BEFORE, DAYS_AFTER)
    outside = [
        found.position
        for found, inside in zip(ranked[:READ], within.tolist(), strict=False)
        if not inside
    ]
    loaded = await log.load(outside)
    naming: set[int] = set()
    of_other_times: set[int] = set()
    for position in loaded:
        day = log.candidates.days[position]
        said = date.fromordinal(int(day)) if day == day else None
        named = _named_days(loaded[position].text, said)
        if any(
            first <= end.toordinal() and start.toordinal() <= last
            for start, end in named
            for first, last in question.days
        ):
            naming.add(position)
        elif named:
            of_other_times.add(position)
    told = [
        found
        for found, inside in zip(ranked, within.tolist(), strict=True)
        if inside or found.position in naming
    ]
    if not question.held or any(last - first < LONG for first, last in question.days):
        return told
    end = max(last for _, last in question.days)
    known = of_other_times | {found.position for found in told}
    told += [
        rated(found, EARLIER * found.relevance)
        for found, day in zip(ranked, days.tolist(), strict=True)
        if day <= end and found.position not in known and _tells(found, log.candidates)
    ]
    return _sorted(told)


def _named_days(text: str, said: date | None) -> list[DateRange]:
    """Return the days that a text names; of a time without a year, those that its day suggests."""
    if said is None:
        return find_date_ranges(text)
    day = said.toordinal()

    def distance(days: DateRange) -> int:  # people speak of what was more than of what will be
        ahead = days[0].toordinal() - day
        return AHEAD * ahead if ahead > 0 else max(day - days[1].toordinal(), 0)

    _, times = find_times(text, (said.year - 1, said.year, said.year + 1), said)
    return [min(time.ranges, key=distance) for time in times]


async def _before_the_event(
    question: Question,
    ranked: Sequence[RankedCandidate],
    dialogue: Sequence[Utterance],
    log: LogIndex,
    context: RecallContext,
) -> list[RankedCandidate]:
    """Lower what was told after the event of a question, unless it says how it was before."""
    event = replace(dialogue[-1], text=question.before, content=(), attachment="")
    alone = replace(context, reranking=None, trace=NO_TRACE)
    candidates = log.candidates
    named = await rank(Question(text=question.before), [event], log, alone)
    told = [found for found in named if _tells(found, candidates)]
    if not told or told[0].relevance < EVENT:
        return list(ranked)
    end = candidates.orders[told[0].position]
    later = [found.position for found in ranked if candidates.orders[found.position] >= end]
    loaded = await log.load(later[:READ])
    cue = cue_words.BEFORE_EVENT[question.language]
    looks_back = {at for at, each in loaded.items() if cue.search(each.text)}
    shares = {at: OF_EVENT if candidates.orders[at] == end else AFTER_EVENT for at in later}
    return _sorted(
        rated(found, shares[found.position] * found.relevance)
        if found.position in shares and found.position not in looks_back
        else found
        for found in ranked
    )


def _tells(found: RankedCandidate, candidates: CandidateIndex) -> bool:
    """Whether it is no question, and nobody's words but people's."""
    at = found.position
    return not (candidates.asks[at] or candidates.by_assistant[at])


async def _of_the_name(
    name_of: Sequence[str], ranked: Sequence[RankedCandidate], log: LogIndex
) -> list[RankedCandidate]:
    """Raise what tells a name of "the wife", "the dog" … and lower what is of somebody else.

    Unless it goes on about them by a pronoun: "Her name is Petra."
    """
    best = ranked[:READ]
    before = {found.position: log.candidates.said_next(found.position, -1) for found in best}
    at = {found.position for found in best}
    loaded = await log.load(at | {each for each in before.values() if each is not None})
    mentioned = re.compile(rf"\b(?:{'|'.join(map(re.escape, name_of))})", re.IGNORECASE)
    naming = naming_pattern(name_of)
    mentions = {position for position, each in loaded.items() if mentioned.search(each.text)}
    names = {position for position, each in loaded.items() if naming.search(each.text)}
    if at.isdisjoint(names):
        return list(ranked)
    result: list[RankedCandidate] = []
    for found in ranked:
        text = loaded[found.position].text if found.position in loaded else ""
        goes_on = before.get(found.position) in mentions and _REFERS.match(text)
        if found.position in names:
            found = rated(found, found.relevance**NAMED)
        elif found.position not in mentions and not goes_on:
            found = rated(found, OTHERS * found.relevance)
        result.append(found)
    return _sorted(result)


def _in_order(
    question: Question, ranked: Sequence[RankedCandidate], candidates: CandidateIndex
) -> list[RankedCandidate]:
    """Put what is about as relevant as the best in order of time; it shares their relevances.

    Where the words of somebody are asked for, only those; else not the assistant's, which answer.
    """
    if not ranked:
        return []
    least = COMPARABLE * ranked[0].relevance
    at = np.array([found.position for found in ranked], np.int64)
    of_speech = question.of_assistant or question.of_speaker or question.asked
    relevant = np.array([found.relevance >= least for found in ranked])
    told = relevant & ~candidates.by_assistant[at]
    if of_speech or not told.any():
        told = relevant & _are_meant(question, at, candidates)
    best = [found for found, is_told in zip(ranked, told.tolist(), strict=True) if is_told]
    first = {found.position for found in best}
    orders = candidates.orders
    best.sort(key=lambda found: int(orders[found.position]), reverse=question.order == "newest")
    others = [found for found in ranked if found.position not in first]
    return _sharing([*best, *others], ranked)


def _are_meant(
    question: Question, at: NDArray[np.int64], candidates: CandidateIndex
) -> NDArray[np.bool_]:
    """Return whether candidates are the words of the speaker who is asked for; all without one."""
    if question.of_assistant:
        return candidates.by_assistant[at]
    if question.of_speaker:
        return candidates.is_by(question.of_speaker, at)
    if question.asked:
        return candidates.by_user[at] & candidates.asks[at]
    return np.ones(len(at), np.bool_)


async def _reranked(
    query: str, ranked: Sequence[RankedCandidate], log: LogIndex, reranking: RerankConfig
) -> list[RankedCandidate]:
    """Return the candidates in the order of a configured reranker; they share their relevances."""
    loaded = await log.load(found.position for found in ranked)
    reordered = await reranking.rerank(
        query,
        [(found, found.score) for found in ranked if found.position in loaded],
        lambda found: loaded[found.position].text,
    )
    return _sharing([found for found, _ in reordered], ranked)


def _sharing(
    reordered: Sequence[RankedCandidate], ranked: Sequence[RankedCandidate]
) -> list[RankedCandidate]:
    """Return candidates in a new order, with the relevances of the old one, which descend."""
    return [
        replace(found, score=before.score, relevance=before.relevance)
        for found, before in zip(reordered, ranked, strict=False)
    ]


def _without_echoes(
    ranked: Sequence[RankedCandidate], candidates: CandidateIndex
) -> list[RankedCandidate]:
    """Put the user's own words before what the assistant made of them later; return all others.

    A passage of the assistant that tells nothing else is left out.
    """
    echoes = [found for found in ranked[:ECHOES] if candidates.by_assistant[found.position]]
    if not echoes:
        return list(ranked)
    own = [found for found in ranked[:ECHOED] if candidates.by_user[found.position]]
    contents = list(candidates.contents([found.position for found in own]))
    best = {found.position: found for found in ranked}
    for found, echo in zip(
        echoes, candidates.contents([found.position for found in echoes]), strict=True
    ):
        for said, content in zip(own, contents, strict=True):
            if said.turn > found.turn or content.asks or not echo.tells(content):
                continue
            if best[said.position].score <= found.score:  # as relevant as its echo, and before it
                raised = replace(said, score=found.score + 1e-3, relevance=found.relevance)
                best[said.position] = raised
            if content.tells(echo):
                best.pop(found.position, None)
    return _sorted(best.values())


async def _with_antecedents(
    ranked: Sequence[RankedCandidate], log: LogIndex
) -> list[RankedCandidate]:
    """Raise what a speaker said just before a best passage that refers to it by a pronoun.

    What refers to a best passage is raised too, less.
    """
    candidates = log.candidates
    best = {found.position: found for found in ranked}
    pairs = [
        (found, other, step < 0)
        for found in ranked[:REFERRING]
        for step in (-1, 1)
        if (other := candidates.said_next(found.position, step)) in best
    ]
    pairs += [
        (found, other, True)
        for found in ranked[:ANSWERS]
        if (other := candidates.question_of(found.position)) in best
    ]
    loaded = await log.load({at for found, other, _ in pairs for at in (found.position, other)})
    for found, other, is_before in pairs:
        referring = loaded.get(found.position if is_before else other)
        least = (ANTECEDENT if is_before else FOLLOWING) * found.relevance
        refers = referring and referring.is_whole and _REFERS.match(referring.text)
        if refers and best[other].relevance < least:
            best[other] = rated(best[other], least)
    return _sorted(best.values())


def _sorted(ranked: Iterable[RankedCandidate]) -> list[RankedCandidate]:
    return sorted(ranked, key=lambda found: -found.score)
