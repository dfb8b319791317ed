"""What the memory holds of a session's people and matters, before the session is summarized."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from theanine.methods.base import Context
from theanine.summarization import Known
from theanine.types import Memory, Session, Turn

PEOPLE = 30
"""Most names that are shown, the most frequent ones."""
STATEMENTS = 8
"""Most statements that are shown."""
_NEAREST = 3
"""Statements that are looked up for each turn."""


async def find_known(session: Session, turns: Sequence[Turn], context: Context) -> Known:
    """Return the people of earlier sessions, and the statements most similar to a turn."""
    index = context.index
    vectors = await context.embedder.embed([turn.full_text for turn in turns])
    mask = index.before(session) & index.live  # after the last await: the index may have grown
    nearest = index.nearest(vectors, _NEAREST, among=np.broadcast_to(mask, (len(turns), len(mask))))
    best: dict[int, float] = {}
    for memory, similarity in (each for row in nearest for each in row):
        best[memory.id] = max(similarity, best.get(memory.id, similarity))
    chosen = sorted(best, key=lambda memory: -best[memory])[:STATEMENTS]
    earlier = [index.memories[position] for position in np.flatnonzero(mask).tolist()]
    return Known(
        people=_people(earlier),
        statements=sorted((index[memory] for memory in chosen), key=lambda memory: memory.order),
    )


def _people(memories: Sequence[Memory]) -> dict[str, int]:
    """Return the most frequent names, with the session from which each was known first."""
    counts = Counter[str]()
    first: dict[str, int] = {}
    for memory in memories:
        counts.update(memory.speakers)
        for name in memory.speakers:
            first[name] = min(memory.session, first.get(name, memory.session))
    return {name: first[name] for name, _ in counts.most_common(PEOPLE)}
