"""Phase I, step 2: find the earlier memories that a new one may be linked to.

Beyond the paper, which takes those of highest cosine: the rare words that both have, who speaks
and how much a memory says count as well, and of memories from adjacent turns only the best is
taken, so that the candidates cover more of the past.
"""

from __future__ import annotations

from collections.abc import Sequence

from theanine.clock import micros
from theanine.embeddings.base import Vectors
from theanine.methods.shared.pairs import Pair
from theanine.retrieval.scope_index import ScopeIndex
from theanine.types import NewMemory, Session

CANDIDATES = 10
"""Earlier memories that the local linker judges for each new one."""
_ADJACENT = 2
"""Distance of source turns up to which the lower-ranked of two memories is left out."""


def find_associates(
    memories: Sequence[NewMemory], vectors: Vectors, session: Session, index: ScopeIndex, k: int
) -> list[Pair]:
    """Pair each new memory with up to ``k`` memories of earlier sessions, best first.

    Memories later than the new one are excluded (sessions may overlap), so that links always run
    forward in time.
    """
    earlier = index.before(session)
    if not earlier.any():
        return []
    latest = index.times[earlier].max()
    pairs: list[Pair] = []
    for position, (memory, vector) in enumerate(zip(memories, vectors, strict=True)):
        at = micros(memory.at)
        among = earlier if latest <= at else earlier & (index.times <= at)
        ranked = index.associates(memory.text, vector, memory.speakers, 3 * k, among=among)
        firsts = [older.source_turns[0] if older.source_turns else None for older, _ in ranked]
        pairs += [Pair(ranked[at][0], position, memory, ranked[at][1]) for at in spread(firsts, k)]
    return pairs


def spread(firsts: Sequence[int | None], k: int) -> list[int]:
    """Return the positions of the best ``k`` candidates of which no two are from adjacent turns.

    ``firsts`` are their first turns by number, best candidate first; None if unknown.
    """
    chosen: list[int] = []
    covered = set[int]()
    for at, first in enumerate(firsts):
        if len(chosen) == k:
            break
        if first is None:
            chosen.append(at)
        elif first not in covered:
            chosen.append(at)
            covered.update(range(first - _ADJACENT, first + _ADJACENT + 1))
    return chosen
