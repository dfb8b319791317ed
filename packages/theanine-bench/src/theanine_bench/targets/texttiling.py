"""Baseline segmenters, which split a session where adjacent blocks of it differ.

:func:`text_tiling` compares words, :func:`similarity_dips` vectors. Source: Hearst, "TextTiling:
Segmenting Text into Multi-paragraph Subtopic Passages" (1997), block comparison.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theanine_bench.metrics.optional_imports import library
from theanine_methods.segmentation import Span, spans_between

STOP_WORDS = (
    "i me my myself we our ours ourselves you you're you've you'll you'd your yours yourself "
    "yourselves he him his himself she she's her hers herself it it's its itself they them their "
    "theirs themselves what which who whom this that that'll these those am is are was were be "
    "been being have has had having do does did doing a an the and but if or because as until "
    "while of at by for with about against between into through during before after above below "
    "to from up down in out on off over under again further then once here there when where why "
    "how all any both each few more most other some such no nor not only own same so than too "
    "very s t can will just don don't should should've now d ll m o re ve y ain aren aren't "
    "couldn couldn't didn didn't doesn doesn't hadn hadn't hasn hasn't haven haven't isn isn't ma "
    "mightn mightn't mustn mustn't needn needn't shan shan't shouldn shouldn't wasn wasn't weren "
    "weren't won won't wouldn wouldn't"
).split()
"""The English words of nltk's ``stopwords`` corpus, which nltk would download."""


def text_tiling(texts: Sequence[str], words: int = 10, block: int = 6) -> list[Span]:
    """Segment by nltk's TextTiling, as the program of SuperDialSeg does (Jiang et al., 2023).

    Each turn is a paragraph. A dialogue too short for nltk is one segment.

    Args:
        words: of a pseudo-sentence.
        block: pseudo-sentences that are compared on each side of a gap.
    """
    paragraphs = [" ".join(text.split()) for text in texts]
    tokenizer: Any = library("nltk.tokenize.texttiling").TextTilingTokenizer(
        w=words, k=block, stopwords=STOP_WORDS
    )
    try:
        tiles: list[str] = tokenizer.tokenize("\n\n".join(paragraphs))
    except (ValueError, IndexError):
        tiles = []
    starts = [0, *accumulate(len(paragraph) + 2 for paragraph in paragraphs)][:-1]
    ends = list(accumulate(map(len, tiles)))[:-1]
    return spans_between(sorted({bisect_left(starts, end) for end in ends}), len(texts))


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
