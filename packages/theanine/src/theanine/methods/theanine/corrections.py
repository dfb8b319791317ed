"""Corrections in recall from the log: they come with the words that they correct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from theanine.retrieval.candidates import RankedCandidate
from theanine.retrieval.log_index import LogIndex
from theanine.retrieval.scope_index import ScopeIndex
from theanine.text.formatting import day_label
from theanine.types import Memory

CORRECTION_GAIN = 1e-3
"""How much higher a correction scores than what it corrects."""

Corrected = Mapping[int, Memory | None]
"""The latest correction of each candidate that says what was corrected, by its position."""


async def find_corrected(index: ScopeIndex, log: LogIndex) -> Corrected:
    """Return the candidates that say what the caller has corrected."""
    successors = index.corrected
    if not successors:
        return {}
    numbers = {number for pair in successors.items() for number in pair if number is not None}
    memories = {memory.id: memory for memory in await log.memories(numbers)}
    corrected: dict[int, Memory | None] = {}
    for old in successors.keys() & memories.keys():
        latest = successors[old]
        while latest is not None and latest in successors:
            latest = successors[latest]
        for candidate in await log.saying(old):
            corrected[candidate.position] = None if latest is None else memories.get(latest)
    return corrected


async def add_corrections(
    ranked: Sequence[RankedCandidate],
    corrected: Corrected,
    log: LogIndex,
    bounds: LogIndex | ScopeIndex,
) -> list[RankedCandidate]:
    """Put each correction before what it corrects, and leave out a model's corrected statements."""
    best = {found.position: found for found in ranked}
    for found in ranked:
        if found.position not in corrected:
            continue
        if found.memory:
            del best[found.position]
        correction = corrected[found.position]
        if correction is None or not bounds.includes(correction.id):
            continue
        for own in await log.saying(correction.id):
            own = best.get(own.position, own)
            best[own.position] = replace(
                own,
                score=max(own.score, found.score + CORRECTION_GAIN),
                relevance=max(own.relevance, found.relevance),
            )
    return sorted(best.values(), key=lambda found: -found.score)


def correction_notes(corrected: Corrected) -> dict[int, str]:
    """Return what to add to the corrected words, by the position of their candidate."""
    return {
        position: f" (corrected on {day_label(correction.at, correction.dated)})"
        if correction
        else " (corrected)"
        for position, correction in corrected.items()
    }
