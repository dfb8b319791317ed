"""Boundaries where neighbouring blocks of turns are unlike: the classic baselines.

:func:`text_tiling` compares words, :func:`similarity_dips` vectors. Source: Hearst, "TextTiling:
Segmenting Text into Multi-paragraph Subtopic Passages", 1997, block comparison. Difference: the
unit is a turn, not a run of twenty words, so that boundaries fall between turns by themselves.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from theanine.segmentation.segments import Span, spans_between
from theanine.text.words import FUNCTION_WORDS, stem, words


def text_tiling(texts: Sequence[str], block: int = 3) -> list[Span]:
    """Segments by the words of ``block`` turns on each side of a gap.

    A boundary falls where a gap's depth passes the dialogue's mean less half a spread and neither
    neighbour is deeper. Deterministic; no turns give no segment.
    """
    if len(texts) < 2:
        return spans_between([], len(texts))
    counts = [
        Counter(stem(word) for word in words(text) if word not in FUNCTION_WORDS) for text in texts
    ]
    depths = _depths([_likeness(counts, gap, block) for gap in range(1, len(texts))])
    cut = max(0.0, float(depths.mean() - depths.std() / 2))
    deep = [at for at, depth in enumerate(depths) if depth > cut and not _deeper_beside(depths, at)]
    return spans_between([at + 1 for at in deep], len(texts))


def similarity_dips(
    vectors: NDArray[np.float32], window: int = 2, strictness: float = 1.0, gap: int = 2
) -> list[Span]:
    """Segments by the mean vectors of ``window`` turns on each side of a gap.

    A boundary falls where a gap's depth passes the dialogue's mean by ``strictness`` spreads, the
    deepest first, and no other boundary lies closer than ``gap`` turns.

    Args:
        vectors: a row a turn, ``(n, d)``.
        window: turns on each side.
        strictness: in standard deviations of the dialogue's depths.
        gap: the least turns between two boundaries.
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
    cut = float(depths.mean() + strictness * depths.std())
    starts: list[int] = []
    for at in np.argsort(-depths).tolist():
        if depths[at] > cut and all(abs(at + 1 - other) >= gap for other in starts):
            starts.append(at + 1)
    return spans_between(sorted(starts), turns)


def _likeness(counts: Sequence[Counter[str]], gap: int, block: int) -> float:
    """The cosine of the word counts on both sides of a gap."""
    before, after = Counter[str](), Counter[str]()
    for one in counts[max(0, gap - block) : gap]:
        before.update(one)
    for one in counts[gap : gap + block]:
        after.update(one)
    squares = [sum(n * n for n in side.values()) for side in (before, after)]
    if not all(squares):
        return 0.0
    return sum(n * after[word] for word, n in before.items()) / math.sqrt(squares[0] * squares[1])


def _depths(likeness: Sequence[float]) -> NDArray[np.float64]:
    """How far the likeness falls at each gap from the peaks on both sides of it."""
    found: list[float] = []
    for at in range(len(likeness)):
        left = right = at
        while left > 0 and likeness[left - 1] >= likeness[left]:
            left -= 1
        while right < len(likeness) - 1 and likeness[right + 1] >= likeness[right]:
            right += 1
        found.append(likeness[left] + likeness[right] - 2 * likeness[at])
    return np.array(found)


def _deeper_beside(depths: NDArray[np.float64], at: int) -> bool:
    """Whether a direct neighbour is the better boundary; of equals the first is."""
    before = at > 0 and depths[at - 1] >= depths[at]
    after = at + 1 < len(depths) and depths[at + 1] > depths[at]
    return bool(before or after)
