"""Compare new memories with similar memories of earlier sessions, in pairs that a model judges.

In a prompt the older memories are labeled M1, M2, … and the new ones N1, N2, …; pairs are numbered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from theanine.clock import micros
from theanine.embeddings.base import Vectors
from theanine.llm.bounds import ReplyBounds, number_between
from theanine.retrieval.scope_index import ScopeIndex
from theanine.text.formatting import day_label, format_day, group_by_day, one_line
from theanine.types import Memory, NewMemory, Session

PAIRS_PER_CALL = 24


@dataclass(frozen=True, slots=True)
class Pair:
    """An older memory and a similar new one.

    Attributes:
        older: a memory of an earlier session.
        newer_index: index of the new memory in its batch.
        newer: the new memory.
        similarity: cosine of their vectors, -1 to 1.
    """

    older: Memory
    newer_index: int
    newer: NewMemory
    similarity: float


def pair_with_earlier(
    memories: Sequence[NewMemory],
    vectors: Vectors,
    session: Session,
    index: ScopeIndex,
    k: int,
    *,
    kinds: Sequence[str] = (),
) -> list[Pair]:
    """Pair each new memory with its ``k`` nearest memories of earlier sessions, nearest first.

    Memories later than the new one are excluded (sessions may overlap), so that links always run
    forward in time. With ``kinds``, only live memories of these kinds are paired.
    """
    if not memories:
        return []
    mask = index.before(session)
    if kinds:
        mask &= index.live_mask(*kinds)
    times = np.array([micros(memory.at) for memory in memories], np.int64)
    nearest = index.nearest(vectors, k, among=mask & (index.times <= times[:, None]))
    return [
        Pair(older, position, memory, similarity)
        for position, (memory, neighbors) in enumerate(zip(memories, nearest, strict=True))
        for older, similarity in neighbors
    ]


def split_pairs(pairs: Sequence[Pair]) -> tuple[list[Memory], list[NewMemory]]:
    """Return the older memories in time order and the new ones in their order, each once."""
    older = {pair.older.id: pair.older for pair in pairs}
    newer = {pair.newer_index: pair.newer for pair in pairs}
    return sorted(older.values(), key=lambda memory: memory.order), list(newer.values())


def format_statement(memory: Memory | NewMemory, dated: bool) -> str:
    """Return ``(8 May 2023) statement`` on one line, without the date if it is not dated."""
    return format_day(memory.at, dated) + one_line(memory.text)


def format_labeled(letter: str, memories: Iterable[tuple[Memory | NewMemory, bool, str]]) -> str:
    """List memories, each with whether it is dated and a suffix, as ``M1 statement [2,3]``."""
    return group_by_day(
        (day_label(memory.at, dated), f"{letter}{number} {one_line(memory.text)}{suffix}")
        for number, (memory, dated, suffix) in enumerate(memories, 1)
    )


def format_pairs(pairs: Sequence[Pair]) -> str:
    """List pairs as ``3: M1 N2``, by the labels of the memories of :func:`split_pairs`."""
    older, _ = split_pairs(pairs)
    m = {memory.id: label for label, memory in enumerate(older, 1)}
    n: dict[int, int] = {}
    lines: list[str] = []
    for number, pair in enumerate(pairs, 1):
        label = n.setdefault(pair.newer_index, len(n) + 1)
        lines.append(f"{number}: M{m[pair.older.id]} N{label}")
    return "\n".join(lines)


def pairs_bounds(path: str, count: int) -> ReplyBounds:
    """Return the bounds of a reply with one item, of a few words, for each pair."""
    return ReplyBounds(
        50 + 120 * count,
        {
            path: {"minItems": count, "maxItems": count},
            f"{path}[].pair": number_between(1, count),
            f"{path}[].explanation": {"maxLength": 200},
        },
        numbered={path: "pair"},
    )


def pairs_fault(numbers: Sequence[int], count: int, noun: str) -> str | None:
    """Return an error unless a reply has one ``noun`` for each pair from 1 to ``count``."""
    if missing := [number for number in range(1, count + 1) if number not in numbers]:
        return f"no {noun} for pairs {missing}"
    if unknown := sorted({number for number in numbers if not 1 <= number <= count}):
        return f"there are no pairs {unknown}, only 1 to {count}"
    if repeated := sorted({number for number in numbers if numbers.count(number) > 1}):
        return f"more than one {noun} for pairs {repeated}"
    return None
