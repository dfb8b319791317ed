"""Resolve which candidates are states of one matter, and which of them holds.

Nothing is retired when it is written: what is decided here costs an order, not a fact. What is
claimed, such as a correction by the user, is said beside the words; what is only probable puts the
newest first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from theanine.graph import Pair
from theanine.recall.claims import governs, replaces, tells_change
from theanine.recall.state_model import same_matter
from theanine.recall.states import current_states
from theanine.retrieval.candidates import Candidate, CandidateIndex, RankedCandidate
from theanine.retrieval.log_index import LogIndex
from theanine.text.formatting import day_label
from theanine.types import LOCAL_MODEL, REPLACED, Memory

JUDGED = 60
"""Best candidates that may be other states."""
READ = 20
"""Best candidates whose words are read for what they say of each other."""
SEEDS = 6
"""Best candidates whose other states are looked for."""
JOINED = (0.05, 0.1)
"""Probability from which a candidate is shown as a state of the matter of the best one, and of
others."""
LINKED = 0.05
"""That probability where the two were linked as a change when they were remembered."""
RATIO = 0.1
"""Share of the best relevance below which another state is the less likely, the less it has."""
STATES = 3
"""Most states that are shown with the best one of a matter."""
CORRECTION_GAIN = 1e-3
"""How much higher a correction scores than what it corrects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matter:
    """Candidates that tell states of one matter, or a single candidate.

    Attributes:
        states: the newest first.
        score, relevance: the highest of a state.
        is_claimed: whether the newest is known to hold instead of an older one, which is then never
            shown without it. Otherwise they are only likely to belong together.
    """

    states: tuple[RankedCandidate, ...]
    score: float
    relevance: float
    is_claimed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The matters of a recall, in order of relevance.

    Attributes:
        notes: what to add to the words of states that are known not to hold any more, by position.
    """

    matters: tuple[Matter, ...]
    notes: Mapping[int, str]


async def resolve(
    ranked: Sequence[RankedCandidate],
    query: NDArray[np.float32],
    log: LogIndex,
    corrections: Mapping[int, int | None],
    *,
    links: bool = True,
    closed: bool = False,
    of_a_time: bool = False,
) -> Resolved:
    """Return the candidates by matter.

    Args:
        query: the vector of the question.
        corrections: memories that the caller corrected, and what replaces them.
        links: whether other states are looked for besides those that the caller corrected.
        closed: whether only ranked candidates count, as where a question names a time.
        of_a_time: whether what was said is asked for, not the sentence of what holds now.
    """
    candidates = log.candidates
    notes: dict[int, str] = {}
    claimed: defaultdict[int, list[RankedCandidate]] = defaultdict(list)
    if corrections:
        ranked = await _correct(ranked, corrections, log, claimed, notes)
    likely: dict[int, list[RankedCandidate]] = {}
    if links and ranked:
        await _find_claims(ranked[:READ], log, claimed, notes)
        likely = await _other_states(ranked, query, log, corrections, closed, of_a_time)
    known = {found.position: found for found in ranked}
    taken: set[int] = set()
    matters: list[Matter] = []
    for found in ranked:
        if found.position in taken:
            continue
        if found.position not in likely and found.position not in claimed:  # as most
            taken.add(found.position)
            matters.append(_matter([found], candidates))
            continue
        states = {found.position: found}
        waiting = [found, *likely.get(found.position, ())]
        while waiting:
            state = waiting.pop()
            if state.position not in taken:
                states[state.position] = known.get(state.position, state)
                taken.add(state.position)
                waiting += claimed.get(state.position, ())
        matter = _matter(states.values(), candidates)
        matters.append(await _claim(matter, log, notes) if len(states) > 1 else matter)
    matters.sort(key=lambda matter: -matter.score)
    return Resolved(matters=tuple(matters), notes=notes)


async def _other_states(
    ranked: Sequence[RankedCandidate],
    query: NDArray[np.float32],
    log: LogIndex,
    corrections: Collection[int],
    closed: bool,
    of_a_time: bool,
) -> dict[int, list[RankedCandidate]]:
    """Return what are probably other states of what the best candidates tell, by position."""
    candidates, seeds = log.candidates, ranked[:SEEDS]
    linked = [await _linked(seed, log, corrections, of_a_time) for seed in seeds]
    judged = {found.position: found for found in ranked[:JUDGED]}
    if not closed:
        judged |= {
            other.position: other
            for other, _ in chain.from_iterable(linked)
            if other.position not in judged
        }
    others = [*judged.values()]
    at = np.array([*judged], np.int64)
    assistants = candidates.by_assistant[at]
    chances = same_matter(at, len(seeds), candidates, query)
    # What the assistant says is no state of anything: it answers, and echoes what the user tells.
    chances[assistants | assistants[: len(seeds), None]] = 0
    # Everybody has a state of their own; what a model made of many turns has no one speaker.
    speakers, said = candidates.speaker_groups[at], candidates.turns[at] > 0
    others_words = (speakers != speakers[: len(seeds), None]) & said & said[: len(seeds), None]
    chances[others_words] = 0
    told = [set(log.source_turns(one.memory)) if one.memory else {one.turn} for one in others]
    for number, seed in enumerate(seeds):  # what one turn says, and what rests on it, is one state
        is_same = [
            bool(seed.turn or other.turn) and not told[number].isdisjoint(turns)
            for other, turns in zip(others, told, strict=True)
        ]
        chances[number, is_same] = 0
    relevances = np.array([other.relevance for other in others])
    chances *= np.minimum(relevances / max(RATIO * relevances[0], 1e-12), 1)
    result: dict[int, list[RankedCandidate]] = {}
    for number, (seed, row) in enumerate(zip(seeds, chances, strict=True)):
        best = np.argsort(-row, kind="stable")[: STATES + 1].tolist()
        found: list[RankedCandidate] = [
            others[at] for at in best if at != number and row[at] >= JOINED[number > 0]
        ]
        of_seed = dict(zip(judged, row.tolist(), strict=True))
        result[seed.position] = [
            other
            for other, is_certain in linked[number]
            if other.position in of_seed and (is_certain or of_seed[other.position] >= LINKED)
        ] + found[:STATES]
    return result


def _matter(states: Collection[RankedCandidate], candidates: CandidateIndex) -> Matter:
    if len(states) == 1:
        (only,) = states
        return Matter(states=(only,), score=only.score, relevance=only.relevance)
    newest_first = sorted(
        states,
        key=lambda state: (
            -int(candidates.times[state.position]),
            -int(candidates.orders[state.position]),
            state.position,
        ),
    )
    return Matter(
        states=tuple(newest_first),
        score=max(state.score for state in newest_first),
        relevance=max(state.relevance for state in newest_first),
    )


async def _find_claims(
    ranked: Sequence[RankedCandidate],
    log: LogIndex,
    claimed: defaultdict[int, list[RankedCandidate]],
    notes: dict[int, str],
) -> None:
    """Find which candidates say in so many words that another holds no more, and note it."""
    loaded = await log.load(found.position for found in ranked)
    times, speakers = log.candidates.times, log.candidates.speaker_groups
    told = [found for found in ranked if found.position in loaded]
    told.sort(key=lambda found: int(times[found.position]))
    for newer in told:
        text = loaded[newer.position].text
        for older in told if tells_change(text) else ():
            if (
                times[older.position] < times[newer.position]
                and speakers[older.position] == speakers[newer.position]
                and replaces(text, loaded[older.position].text)
            ):
                claimed[older.position].append(newer)
                claimed[newer.position].append(older)
                notes.setdefault(older.position, _until(loaded[newer.position]))


async def _claim(matter: Matter, log: LogIndex, notes: dict[int, str]) -> Matter:
    """Return a matter as claimed if it is, and note until when its older states held."""
    loaded = await log.load(state.position for state in matter.states)
    speakers = log.candidates.speaker_groups
    states = [state for state in matter.states if state.position in loaded]
    for older, newer in combinations(reversed(states), 2):
        if speakers[older.position] == speakers[newer.position] and replaces(
            loaded[newer.position].text, loaded[older.position].text
        ):
            notes.setdefault(older.position, _until(loaded[newer.position]))
    is_claimed = any(state.position in notes for state in matter.states[1:])
    return replace(matter, is_claimed=is_claimed)


def _until(newer: Candidate) -> str:
    return f" (until {day_label(newer.owner.at, newer.owner.dated)})"


async def _linked(
    found: RankedCandidate, log: LogIndex, corrections: Collection[int], of_a_time: bool
) -> list[tuple[RankedCandidate, bool]]:
    """Return what a candidate changed from or into by its links, and whether that is certain.

    It is where a model judged it, or where a cue of the change governs what the two share. Of a
    chain of changes, the state at its end is returned as well: it holds. What the caller corrected
    is not returned, but what it changed into is.
    """
    owners = [found.memory] if found.memory else log.memories_of_turns([found.turn])[found.turn]
    result: list[tuple[RankedCandidate, bool]] = []
    seen = {*owners}
    waiting = [(own, found.position, True) for own in owners]
    while waiting:
        own, position, is_certain = waiting.pop(0)
        is_first = own in owners
        for older, newer in _changes(own, log, both=is_first):
            other = older if newer == own else newer
            if other in seen:
                continue
            seen.add(other)
            is_judged = any(
                link.made_by != LOCAL_MODEL for link in await log.links([(older, newer)])
            )
            is_end = other == older or not _changes(other, log)
            holding = [] if of_a_time else current_states(other, log, corrections)
            told = [sentence for state in holding for sentence in log.candidates.of_memory(state)]
            told = told or await log.saying(other)
            states = [state for state in told if state.position != found.position]
            loaded = await log.load([position, *(state.position for state in states)])
            for state in states:
                one, two = loaded.get(position), loaded.get(state.position)
                if not (one and two):
                    continue
                certain = is_certain and (
                    is_judged or governs(one.text, two.text) or governs(two.text, one.text)
                )
                if (is_first or is_end) and other not in corrections:
                    result.append((state, certain))
                if not is_end:
                    waiting.append((other, state.position, certain))
    return result


def _changes(memory: int, log: LogIndex, *, both: bool = False) -> list[Pair]:
    """Return the changes of a memory into newer ones, as older and newer; with ``both``, all."""
    changed = {other for other, relation in log.neighbors(memory) if relation in REPLACED}
    pairs = [pair for pair in log.relations({memory, *changed}) if memory in pair]
    return pairs if both else [pair for pair in pairs if pair[0] == memory]


async def _correct(
    ranked: Sequence[RankedCandidate],
    corrections: Mapping[int, int | None],
    log: LogIndex,
    claimed: defaultdict[int, list[RankedCandidate]],
    notes: dict[int, str],
) -> list[RankedCandidate]:
    """Put each correction before what it corrects, and leave out a model's corrected statements.

    Fills in which candidates belong to which, and the notes.
    """
    best = {found.position: found for found in ranked}
    for old, latest in (await _latest_corrections(corrections, log)).items():
        is_told = latest is not None and log.includes(latest.id)
        replacing = await log.saying(latest.id) if latest and is_told else []
        for position in [candidate.position for candidate in await log.saying(old)]:
            if (found := best.get(position)) is None:
                continue
            if found.memory:
                del best[position]
            day = f" on {day_label(latest.at, latest.dated)}" if latest else ""
            notes[position] = f" (corrected{day})"
            for own in replacing:
                own = best.get(own.position, own)
                if own.score < found.score + CORRECTION_GAIN:
                    own = replace(
                        own, score=found.score + CORRECTION_GAIN, relevance=found.relevance
                    )
                best[own.position] = own
                if not found.memory:
                    claimed[own.position].append(found)
                    claimed[position].append(own)
    return sorted(best.values(), key=lambda found: -found.score)


async def _latest_corrections(
    corrections: Mapping[int, int | None], log: LogIndex
) -> dict[int, Memory | None]:
    """Return the latest correction of each memory; None for one that nothing replaces."""
    numbers = {number for pair in corrections.items() for number in pair if number is not None}
    memories = {memory.id: memory for memory in await log.memories(numbers)}
    result: dict[int, Memory | None] = {}
    for old in corrections.keys() & memories.keys():
        latest = corrections[old]
        while latest is not None and latest in corrections:
            latest = corrections[latest]
        result[old] = None if latest is None else memories.get(latest)
    return result
