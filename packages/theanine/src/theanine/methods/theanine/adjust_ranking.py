"""Adjust the ranking of the log: the user's own words before their echoes, changes together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from theanine.graph import Graph
from theanine.retrieval.candidates import RankedCandidate
from theanine.retrieval.log_index import LogIndex
from theanine.retrieval.scope_index import ScopeIndex
from theanine.types import Link, Relation, Turn

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


async def without_echoes(ranked: Sequence[RankedCandidate], log: LogIndex) -> list[RankedCandidate]:
    """Put the user's own words before what the assistant made of them later; return all others.

    A passage of the assistant that tells nothing else is left out.
    """
    is_echo = log.candidates.is_by_assistant
    echoes = {found.position for found in ranked[:ECHOES] if is_echo(found.position)}
    if not echoes:
        return list(ranked)
    turns = [
        (candidate, candidate.owner, found)
        for candidate, found in zip(await log.load(ranked[:ECHOED]), ranked, strict=False)
        if isinstance(candidate.owner, Turn)
    ]
    own = [entry for entry in turns if entry[1].role == "user"]
    best = {found.position: found for found in ranked}
    for echo, turn, found in turns:
        if found.position not in echoes:
            continue
        for original, said, said_found in own:
            content = original.content
            if said.id > turn.id or content.asks or not echo.content.tells(content):
                continue
            raised = max(best[said_found.position].score, found.score + ECHO_COST)
            best[said_found.position] = replace(said_found, score=raised)
            if content.tells(echo.content):
                best.pop(found.position, None)
    return sorted(best.values(), key=lambda found: -found.score)


async def with_changes(
    ranked: Sequence[RankedCandidate], log: LogIndex, bounds: LogIndex | ScopeIndex
) -> list[RankedCandidate]:
    """Raise what the best candidates changed from and into; return all, best first.

    What a change joins belongs together, with the same relevance. Other links only join what is
    found anyway: raising what they lead to cost evidence on every data set.
    """
    changed = [
        (memory, found)
        for found in ranked[:CHANGES]
        for own in (bounds.memories_of_turn(found.turn) if found.turn else [found.memory])
        for memory, link in linked_memories(own, bounds.graph)
        if link.relation is Relation.CHANGED
    ]
    if not changed:
        return list(ranked)
    best = {found.position: found for found in ranked}
    memories = {memory.id: memory for memory in await log.memories(m for m, _ in changed)}
    for memory, found in changed:
        raised = found.score - CHANGE_COST
        for linked in await log.saying(memories[memory]):
            linked = best.get(linked.position) or replace(linked, score=raised)
            best[linked.position] = replace(
                linked,
                score=max(linked.score, raised),
                relevance=max(linked.relevance, found.relevance),
            )
    return sorted(best.values(), key=lambda found: -found.score)


def linked_memories(memory: int, graph: Graph) -> Iterator[tuple[int, Link]]:
    """Yield the memories that one is linked with, and the links."""
    for older in graph.older.get(memory, ()):
        yield older, graph.links[older, memory]
    for newer in graph.newer.get(memory, ()):
        yield newer, graph.links[memory, newer]
