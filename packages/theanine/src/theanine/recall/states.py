"""The sentence that says what holds now, in place of the statements that it was made of.

A language model writes it for a change, when it links the two statements. It is shown as long as
nothing is known to have changed since, and neither it nor what it tells of was corrected.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from theanine.retrieval.candidates import RankedCandidate
from theanine.retrieval.log_index import LogIndex
from theanine.types import REPLACED


def current_states(memory: int, log: LogIndex, corrected: Collection[int] = ()) -> list[int]:
    """Return the states that tell of a memory and hold."""
    return [state for state in log.states_of(memory) if _holds(state, log, corrected)]


def _holds(state: int, log: LogIndex, corrected: Collection[int]) -> bool:
    told = log.told_by(state)
    if not log.includes(state) or not {state, *told}.isdisjoint(corrected):
        return False
    newest = max(told)
    return not any(
        other > newest and relation in REPLACED for other, relation in log.neighbors(newest)
    )


def tell_states(
    ranked: Sequence[RankedCandidate],
    log: LogIndex,
    corrected: Collection[int],
    *,
    of_a_time: bool = False,
) -> list[RankedCandidate]:
    """Put states in place of the candidates whose statements they tell, with the best score.

    A turn gives way if it is a single passage, and all that was remembered of it is told. States
    that hold no more are left out, and all of them where a question is ``of_a_time``: what was said
    then is asked for.
    """
    if of_a_time:
        return [found for found in ranked if not (found.memory and log.told_by(found.memory))]
    of_turns = log.memories_of_turns([found.turn for found in ranked])
    best: dict[int, RankedCandidate] = {}
    for found in ranked:
        for candidate in _instead(found, of_turns[found.turn], log, corrected):
            known = best.setdefault(candidate.position, candidate)
            if candidate.score > known.score:
                best[candidate.position] = candidate
    return sorted(best.values(), key=lambda found: -found.score)


def _instead(
    found: RankedCandidate, of_turn: Sequence[int], log: LogIndex, corrected: Collection[int]
) -> list[RankedCandidate]:
    """Return what is shown in place of a candidate, if anything: mostly itself."""
    if found.memory and log.told_by(found.memory):
        outdated = found.memory not in corrected and not _holds(found.memory, log, corrected)
        return [] if outdated else [found]
    memories = [found.memory] if found.memory else list(of_turn)
    statements = [memory for memory in memories if not log.told_by(memory)]
    states = [current_states(memory, log, corrected) for memory in statements]
    is_passage = found.turn and len(log.candidates.of_turn(found.turn)) > 1
    if not states or not all(states) or is_passage:
        return [found]
    return [
        replace(own, score=found.score, relevance=found.relevance)
        for state in dict.fromkeys(state for each in states for state in each)
        for own in log.candidates.of_memory(state)
    ]
