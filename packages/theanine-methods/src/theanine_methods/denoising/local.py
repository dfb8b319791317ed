"""Denoise without a model: drop the words with the least self-information.

A word's self-information is -log2 of its probability, summed over its tokens in the bundled
tokenizer. A token's probability is estimated from its rank by the Zipf-Mandelbrot law: the
tokenizer numbers tokens in the order of their merges, the most frequent first. Nothing is counted
in the conversation, so that a text is always denoised the same way.

Source: the measure of Li et al., "Compressing Context to Enhance Inference Efficiency of Large
Language Models" (Selective Context, 2023), with token ranks instead of a language model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import log2

from theanine.tokenizer import load_tokenizer
from theanine_methods.denoising.selection import keep_words

_FIRST = 259
"""Id of the most frequent token; lower ids are bytes and special tokens."""
_SHIFT = 2.7
"""Mandelbrot's shift of the rank, for English."""
_SUM = 3.18
"""log2 of the sum of 1 / (rank + 2.7) over all 32,000 ranks."""
_EDGES = ".,;:!?…\"'“”‘’()[]{}*_-–—"


def local_denoise(lines: Sequence[str], rate: float) -> list[str]:
    """Return the lines with the share ``rate`` of all their words, the most informative ones.

    Words are separated by spaces; in a script without spaces a whole clause counts as one word.
    """
    scores = [[information(word) for word in line.split()] for line in lines]
    return keep_words(lines, rate, scores)


@lru_cache(maxsize=50_000)
def information(word: str) -> float:
    """Return a word's self-information in bits, of its more frequent case; 0 for punctuation."""
    core = word.strip(_EDGES)
    return min(_bits(core), _bits(core.lower())) if core else 0.0


def _bits(word: str) -> float:
    tokens = load_tokenizer().encode(word, add_special_tokens=False).ids
    return sum(log2(max(token - _FIRST, 0) + 1 + _SHIFT) + _SUM for token in tokens)
