"""Retrieval metrics of one question's ranking, 0 to 1.

A ranking is a sequence of units, best first; each unit is the set of turns that it covers. ``gold``
is the turns labeled as evidence. All raise ValueError without gold turns.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import log2

Unit = Collection[int]


def recall_at(ranked: Sequence[Unit], gold: Collection[int], k: int) -> float:
    """Return recall@k: the share of gold turns in the first ``k`` units."""
    retrieved = {turn for unit in ranked[:k] for turn in unit}
    return len(retrieved & set(_nonempty(gold))) / len(set(gold))


def hit_at(ranked: Sequence[int], gold: Collection[int], k: int) -> float:
    """Return 1 if a gold session is among the first ``k`` distinct sessions, else 0.

    ``ranked`` has the session of each unit, best first.
    """
    return float(bool(set(_nonempty(gold)) & set(list(dict.fromkeys(ranked))[:k])))


def reciprocal_rank(ranked: Sequence[Unit], gold: Collection[int]) -> float:
    """Return 1 / rank of the first unit with a gold turn; 0 if there is none."""
    wanted = set(_nonempty(gold))
    return next((1 / rank for rank, unit in enumerate(ranked, 1) if wanted & set(unit)), 0.0)


def dcg(ranked: Sequence[Unit], gold: Collection[int], k: int | None = None) -> float:
    """Return DCG (at ``k``), with a total relevance of 1 shared evenly by the gold turns.

    A gold turn counts at its first occurrence. Source: SeCom (2025), retrieval evaluation.
    """
    remaining, gain = set(_nonempty(gold)), 0.0
    for rank, unit in enumerate(ranked[:k], 1):
        new = remaining & set(unit)
        gain += len(new) / len(set(gold)) / log2(rank + 1)
        remaining -= new
    return gain


def ndcg_at(
    ranked: Sequence[Unit], gold: Collection[int], k: int, units: Collection[Unit]
) -> float:
    """Return :func:`dcg` at ``k``, divided by that of the best order of all ``units``."""
    wanted = set(_nonempty(gold))
    best = sorted(units, key=lambda unit: -len(wanted & set(unit)))
    ideal = dcg(best, gold, k)
    return dcg(ranked, gold, k) / ideal if ideal else 0.0


def _nonempty(gold: Collection[int]) -> Collection[int]:
    if not gold:
        raise ValueError("a question without evidence has no recall; leave it out, and count it")
    return gold
