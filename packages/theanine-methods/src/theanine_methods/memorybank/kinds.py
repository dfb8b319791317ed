"""The kinds of memories that MemoryBank keeps, and the turns that a digest quotes."""

from __future__ import annotations

from theanine.methods.shared.provenance import source_turns
from theanine.retrieval.scope_index import ScopeIndex
from theanine.types import Memory

EXCHANGE = "exchange"
"""An exchange, verbatim."""
DAY_EVENTS = "day-events"
"""The events of one day, one a line."""
DAY_TRAITS = "day-traits"
"""The traits that people showed on one day, one a line."""
EVENTS = "all-events"
"""The global digest of events."""
PORTRAIT = "portrait"
"""The global digest of traits."""


def quoted_turns(memory: Memory, index: ScopeIndex) -> tuple[int, ...]:
    """Return the ids of the turns that support a memory, through the digests it was made from.

    A digest derives from all exchanges of its session, but is supported only by the turns that its
    lines name. A local global digest names the turns that it quotes itself.
    """
    if memory.kind in (EVENTS, PORTRAIT) and memory.source_turns:
        return memory.source_turns
    turns, seen, pending = set[int](), {memory.id}, [memory]
    while pending:
        current = pending.pop()
        turns.update(current.source_turns)
        for ancestor in current.derived_from:
            if ancestor not in seen and ancestor in index:
                seen.add(ancestor)
                if index[ancestor].kind != EXCHANGE:
                    pending.append(index[ancestor])
    return tuple(sorted(turns)) or source_turns(memory, index)
