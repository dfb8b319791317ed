"""TextTiling, the classic baseline: boundaries where neighbouring blocks share few words.

Source: Hearst, "TextTiling: Segmenting Text into Multi-paragraph Subtopic Passages", 1997, block
comparison. Difference: the unit is a turn, not a run of twenty words, so that boundaries fall
between turns by themselves; blocks are counted in turns.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from theanine.steps.segment import Span, spans_between
from theanine.steps.words import FUNCTION_WORDS, stem, words

BLOCK = 3
"""Turns on each side of a gap that are compared."""


def text_tiling(texts: Sequence[str], block: int = BLOCK) -> list[Span]:
    """Segments of the turns. Deterministic; no turns give no segment."""
    counts = [
        Counter(stem(word) for word in words(text) if word not in FUNCTION_WORDS) for text in texts
    ]
    likeness = [_likeness(counts, gap, block) for gap in range(1, len(texts))]
    depths = np.array([_depth(likeness, at) for at in range(len(likeness))])
    if not len(depths):
        return spans_between([], len(texts))
    cut = float(depths.mean() - depths.std() / 2)
    starts = [at + 1 for at, depth in enumerate(depths) if depth > max(cut, 0)]
    kept = [gap for gap in starts if not _deeper_beside(depths, gap - 1)]
    return spans_between(kept, len(texts))


def _likeness(counts: Sequence[Counter[str]], gap: int, block: int) -> float:
    """The cosine of the word counts on both sides of a gap."""
    before: Counter[str] = sum(counts[max(0, gap - block) : gap], Counter())
    after: Counter[str] = sum(counts[gap : gap + block], Counter())
    lengths = math.sqrt(
        sum(n * n for n in before.values()) * sum(n * n for n in after.values())
    )  # fmt: skip
    return sum(n * after[word] for word, n in before.items()) / lengths if lengths else 0.0


def _depth(likeness: Sequence[float], at: int) -> float:
    """How far the likeness falls at a gap from the peaks on both sides of it."""
    left = right = at
    while left > 0 and likeness[left - 1] >= likeness[left]:
        left -= 1
    while right < len(likeness) - 1 and likeness[right + 1] >= likeness[right]:
        right += 1
    return likeness[left] + likeness[right] - 2 * likeness[at]


def _deeper_beside(depths: np.ndarray[tuple[int], np.dtype[np.float64]], at: int) -> bool:
    """Whether a direct neighbour is the better boundary; of equals the first is."""
    before = at > 0 and depths[at - 1] >= depths[at]
    after = at + 1 < len(depths) and depths[at + 1] > depths[at]
    return bool(before or after)
