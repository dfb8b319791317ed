"""Adjust the ranking of the log: the user's own words before their echoes, changes together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from theanine.retrieval.candidates import CandidateIndex, RankedCandidate
from theanine.retrieval.log_index import LogIndex
from theanine.retrieval.scope_index import ScopeIndex
from theanine.types import Relation

CHANGES = 3
"""Best candidates that bring in what they changed from and into."""
CHANGE_COST = 2.0
"""How much lower such a candidate scores than the one that brings it in."""
ECHO_COST = 1e-3
"""How much higher the user's own words score than an echo of them."""
ECHOES = 20
"""Best candidates among which the assistant's echoes of the user are looked for."""
ECHOED = 60
"""Best candidates among which the user's own words are looked for."""


def without_echoes(
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
            raised = max(best[said.position].score, found.score + ECHO_COST)
            best[said.position] = replace(said, score=raised)
            if content.tells(echo):
                best.pop(found.position, None)
    return sorted(best.values(), key=lambda found: -found.score)


async def with_changes(
    ranked: Sequence[RankedCandidate], log: LogIndex, bounds: LogIndex | ScopeIndex
) -> list[RankedCandidate]:
    """Raise what the best candidates changed from and into; return all, best first.

    What a change joins belongs together, with the same relevance. Other links only join what is
    found anyway: raising what they lead to cost evidence on every data set.
    """
    supported = bounds.memories_of_turns([found.turn for found in ranked[:CHANGES]])
    changed = [
        (memory, found)
        for found in ranked[:CHANGES]
        for own in (supported[found.turn] if found.turn else [found.memory])
        for memory, relation in bounds.neighbors(own)
        if relation is Relation.CHANGED
    ]
    if not changed:
        return list(ranked)
    best = {found.position: found for found in ranked}
    for memory, found in changed:
        raised = found.score - CHANGE_COST
        for linked in await log.saying(memory):
            linked = best.get(linked.position) or replace(linked, score=raised)
            best[linked.position] = replace(
                linked,
                score=max(linked.score, raised),
                relevance=max(linked.relevance, found.relevance),
            )
    return sorted(best.values(), key=lambda found: -found.score)
