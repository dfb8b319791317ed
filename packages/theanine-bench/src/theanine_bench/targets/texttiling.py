"""Baseline segmenters, which split a session where adjacent blocks of turns differ.

:func:`text_tiling` compares words, :func:`similarity_dips` vectors. Source: Hearst, "TextTiling:
Segmenting Text into Multi-paragraph Subtopic Passages" (1997), block comparison. Difference: the
unit is a turn instead of twenty words, so that boundaries fall between turns.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from theanine.segmentation import Span, spans_between
from theanine.text.words import FUNCTION_WORDS, stem, words


def text_tiling(texts: Sequence[str], block: int = 3) -> list[Span]:
    """Segment by the words of ``block`` turns on each side of a gap.

    A boundary falls where a gap's depth exceeds the dialogue's mean minus half a standard deviation
    and neither neighbor is deeper.
    """
    if len(texts) < 2:
        return spans_between([], len(texts))
    counts = [
        Counter(stem(word) for word in words(text) if word not in FUNCTION_WORDS) for text in texts
    ]
    depths = _depths([_similarity(counts, gap, block) for gap in range(1, len(texts))])
    cutoff = max(0.0, float(depths.mean() - depths.std() / 2))
    boundaries = [
        gap + 1
        for gap, depth in enumerate(depths)
        if depth > cutoff and not _has_deeper_neighbor(depths, gap)
    ]
    return spans_between(boundaries, len(texts))


def similarity_dips(
    vectors: NDArray[np.float32], window: int = 2, strictness: float = 1.0, gap: int = 2
) -> list[Span]:
    """Segment by the mean vectors of ``window`` turns on each side of a gap.

    A boundary falls where a gap's depth exceeds the dialogue's mean by ``strictness`` standard
    deviations; the deepest come first, and two boundaries are at least ``gap`` turns apart.

    Args:
        vectors: the vector of each turn, ``(n, d)``.
        window: turns on each side.
        strictness: in standard deviations of the dialogue's depths.
        gap: minimum number of turns between two boundaries.
    """
    turns = len(vectors)
    if turns < 2:
        return spans_between([], turns)
    means = [
        (vectors[max(0, at - window) : at].mean(0), vectors[at : at + window].mean(0))
        for at in range(1, turns)
    ]
    depths = _depths([
        float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b) + 1e-9)) for a, b in means
    ])  # fmt: skip
    cutoff = float(depths.mean() + strictness * depths.std())
    starts: list[int] = []
    for at in np.argsort(-depths).tolist():
        if depths[at] > cutoff and all(abs(at + 1 - other) >= gap for other in starts):
            starts.append(at + 1)
    return spans_between(sorted(starts), turns)


def _similarity(counts: Sequence[Counter[str]], gap: int, block: int) -> float:
    """Return the cosine of the word counts on both sides of a gap."""
    before, after = Counter[str](), Counter[str]()
    for count in counts[max(0, gap - block) : gap]:
        before.update(count)
    for count in counts[gap : gap + block]:
        after.update(count)
    squares = [sum(n * n for n in side.values()) for side in (before, after)]
    if not all(squares):
        return 0.0
    return sum(n * after[word] for word, n in before.items()) / math.sqrt(squares[0] * squares[1])


def _depths(similarity: Sequence[float]) -> NDArray[np.float64]:
    """Return how far each gap's similarity lies below the nearest peaks on both sides."""
    depths: list[float] = []
    for at in range(len(similarity)):
        left = right = at
        while left > 0 and similarity[left - 1] >= similarity[left]:
            left -= 1
        while right < len(similarity) - 1 and similarity[right + 1] >= similarity[right]:
            right += 1
        depths.append(similarity[left] + similarity[right] - 2 * similarity[at])
    return np.array(depths)


def _has_deeper_neighbor(depths: NDArray[np.float64], at: int) -> bool:
    """Whether an adjacent gap is the better boundary; of equal ones the first is."""
    before = at > 0 and depths[at - 1] >= depths[at]
    after = at + 1 < len(depths) and depths[at + 1] > depths[at]
    return bool(before or after)
