"""How well a ranking finds the evidence of one question."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import log2


def recall_at(ranked: Sequence[Collection[int]], gold: Collection[int], k: int) -> float:
    """The share of gold turns that stand in the first ``k`` units."""
    found = {turn for unit in ranked[:k] for turn in unit}
    return len(found & set(_some(gold))) / len(set(gold))


def hit_at(ranked: Sequence[int], gold: Collection[int], k: int) -> float:
    """1 when a gold session is among the first ``k`` sessions, ordered by their best unit."""
    return float(bool(set(_some(gold)) & set(list(dict.fromkeys(ranked))[:k])))


def reciprocal_rank(ranked: Sequence[Collection[int]], gold: Collection[int]) -> float:
    """1 / the rank of the first unit with a gold turn; 0 when there is none."""
    wanted = set(_some(gold))
    return next((1 / rank for rank, unit in enumerate(ranked, 1) if wanted & set(unit)), 0.0)


def dcg(ranked: Sequence[Collection[int]], gold: Collection[int], k: int | None = None) -> float:
    """Discounted gain where a question's relevance of 1 is shared evenly by its gold turns.

    Source: SeCom (2025), retrieval evaluation. ``k`` cuts the ranking.
    """
    left, gain = set(_some(gold)), 0.0
    for rank, unit in enumerate(ranked[:k], 1):
        found = left & set(unit)
        gain += len(found) / len(set(gold)) / log2(rank + 1)
        left -= found
    return gain


def ndcg_at(
    ranked: Sequence[Collection[int]],
    gold: Collection[int],
    k: int,
    units: Collection[Collection[int]],
) -> float:
    """:func:`dcg` at ``k``, as a share of what the best order of all ``units`` would give."""
    wanted = set(_some(gold))
    best = sorted(units, key=lambda unit: -len(wanted & set(unit)))
    ideal = dcg(best, gold, k)
    return dcg(ranked, gold, k) / ideal if ideal else 0.0


def _some(gold: Collection[int]) -> Collection[int]:
    if not gold:
        raise ValueError("a question without evidence has no recall; leave it out, and count it")
    return gold
