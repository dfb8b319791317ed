"""Denoise without a model: leave out the words that say least.

How much a word says is its self-information, -log2 of its probability, summed over the pieces that
the bundled tokenizer cuts it into. A piece's probability follows from its rank: the tokenizer's
pieces are numbered by how early they were merged, so by how common they are, and how common the
r-th commonest is, is known (Zipf and Mandelbrot). Nothing is counted in the conversation itself:
the same text is denoised alike whatever was said before or comes later.

Source: the measure is that of Li et al., "Compressing Context to Enhance Inference Efficiency of
Large Language Models" (Selective Context, 2023), with ranks in the place of a language model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import log2

from theanine.text.denoising.denoise import keep_words
from theanine.tokenizer import load_tokenizer

_FIRST = 259
"""The number of the commonest piece; below it are single bytes and marks of the format."""
_SHIFT = 2.7
"""Mandelbrot's shift of the rank, for English."""
_SUM = 3.18
"""log2 of the sum of 1 / (r + 2.7) over all 32,000 ranks."""
_EDGES = ".,;:!?…\"'“”‘’()[]{}*_-–—"


def local_denoise(lines: Sequence[str], rate: float) -> list[str]:
    """The lines with the share ``rate`` of all their words, those that say most, in order.

    A word is what stands between spaces; where a script writes none, that is a whole clause, which
    is hardly ever left out. Of words that say the same, the earlier is kept. Deterministic.
    """
    return keep_words(lines, rate, [[information(word) for word in one.split()] for one in lines])


@lru_cache(maxsize=50_000)
def information(word: str) -> float:
    """How much a word says, in bits, in the commoner of its cases; 0 for mere punctuation."""
    core = word.strip(_EDGES)
    return min(_bits(core), _bits(core.lower())) if core else 0.0


def _bits(word: str) -> float:
    pieces = load_tokenizer().encode(word, add_special_tokens=False).ids
    return sum(log2(max(piece - _FIRST, 0) + 1 + _SHIFT) + _SUM for piece in pieces)
