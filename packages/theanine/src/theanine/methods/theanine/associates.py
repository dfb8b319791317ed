"""Phase I, step 2: find the earlier memories that a new one may be linked to.

Beyond the paper, which takes those of highest cosine: the rare words that both have, who speaks
and how much a memory says count as well, and of memories from adjacent turns the best is taken
first, so that the candidates cover more of the past.
"""

from __future__ import annotations

from collections.abc import Sequence

from theanine.clock import micros
from theanine.methods.shared.pairs import Pair
from theanine.retrieval.scope_index import ScopeIndex
from theanine.types import NewMemory, Session

CANDIDATES = 10
"""Earlier memories that the local linker judges for each new one."""
_ADJACENT = 2
"""Distance of a session's turns up to which the lower-ranked of two memories comes after others."""


def find_associates(
    memories: Sequence[NewMemory], session: Session, index: ScopeIndex, k: int
) -> list[Pair]:
    """Pair each new memory with up to ``k`` memories of earlier sessions, best first.

    Memories later than the new one are excluded (sessions may overlap), so that links always run
    forward in time.
    """
    earlier = index.before(session)
    if not earlier.any():
        return []
    latest = index.times[earlier].max()
    times = [micros(memory.at) for memory in memories]
    among = [earlier if latest <= at else earlier & (index.times <= at) for at in times]
    associates = index.associates(memories, 3 * k, among=among)
    pairs: list[Pair] = []
    for position, (memory, ranked) in enumerate(zip(memories, associates, strict=True)):
        firsts = [
            (older.session, older.source_turns[0]) if older.source_turns else None
            for older, _ in ranked
        ]
        pairs += [Pair(ranked[at][0], position, memory, ranked[at][1]) for at in spread(firsts, k)]
    return pairs


def spread(firsts: Sequence[tuple[int, int] | None], k: int) -> list[int]:
    """Return the positions of ``k`` candidates; those from a turn adjacent to a better one's last.

    ``firsts`` are the session and number of their first turns, best candidate first; None if
    unknown.
    """
    chosen: list[int] = []
    skipped: list[int] = []
    covered = set[tuple[int, int]]()
    for at, first in enumerate(firsts):
        if first in covered:
            skipped.append(at)
            continue
        chosen.append(at)
        if len(chosen) == k:
            break
        if first is not None:
            session, turn = first
            covered.update((session, turn + n) for n in range(-_ADJACENT, _ADJACENT + 1))
    return [*chosen, *skipped[: k - len(chosen)]]
