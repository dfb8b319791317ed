"""The kinds of memories that MemoryBank keeps, and what of them a digest quotes."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np

from theanine.retrieval.scope_index import ScopeIndex
from theanine.types import Memory, Session

EXCHANGE = "exchange"
"""A piece of the conversation as it was said."""
DAY_EVENTS = "day-events"
"""What happened on one day, an event a line."""
DAY_TRAITS = "day-traits"
"""What one day showed of the people, a trait a line."""
EVENTS = "all-events"
"""The digest of all days' events."""
PORTRAIT = "portrait"
"""The digest of all days' traits."""

Day = date | int
"""A dated session's day in the offset of its first turn; an undated session's own number."""
_NEAR = timedelta(days=2)
"""Sessions further apart than this share no day in any two offsets."""


async def day_of_session(session: Session, view: ScopeIndex) -> Day:
    """The day on which a session began; an undated one is a day of its own."""
    if not session.dated:
        return session.id
    turns = await view.session_turns(session.id)
    return (turns[0].at if turns else session.started_at).date()


def live_of(kind: str, view: ScopeIndex) -> list[Memory]:
    """The live memories of a kind, in order of time."""
    places = np.flatnonzero(view.live_mask(kind))
    return sorted((view.memories[place] for place in places), key=lambda memory: memory.order)


async def same_day(kind: str, session: Session, view: ScopeIndex) -> Memory | None:
    """The live digest of the day on which a session began, if there is one."""
    day = await day_of_session(session, view)
    for memory in reversed(live_of(kind, view)):
        other = view.sessions.get(memory.session)
        if other is None or abs(other.started_at - session.started_at) > _NEAR:
            continue
        if await day_of_session(other, view) == day:
            return memory
    return None


def quoted_turns(memory: Memory, view: ScopeIndex) -> tuple[int, ...]:
    """The turns that support what a memory says, through the digests that it was made of.

    A digest is made of all exchanges of its session, but rests on those turns alone that its lines
    name. A local digest of all days names the turns that it quotes itself.
    """
    if memory.kind in (EVENTS, PORTRAIT) and memory.source_turns:
        return memory.source_turns
    turns, seen, waiting = set[int](), {memory.id}, [memory]
    while waiting:
        one = waiting.pop()
        turns.update(one.source_turns)
        fresh = [n for n in one.derived_from if n not in seen and n in view]
        seen.update(fresh)
        waiting += [view[n] for n in fresh if view[n].kind != EXCHANGE]
    return tuple(sorted(turns)) or view.source_turns(memory)
