"""An embedder and a reranker that only compare words: deterministic, without files or network.

For tests and dry runs; their quality is far below that of the built-in embedder.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from theanine.embeddings.base import Scores, Vectors, normalize_rows
from theanine.tokenizer import sanitize

_MAX_CHARACTERS = 4_000


class HashEmbedder:
    """Hashes a text's words and character trigrams into a vector; similar texts get similar ones.

    Case is ignored; characters after the 4,000th are left out.
    """

    def __init__(self, dimension: int = 64, name: str | None = None) -> None:
        self.dimension = dimension
        self._name = name or f"hash:{dimension}"

    @property
    def name(self) -> str:
        """``hash:`` and the dimension, unless another name was given."""
        return self._name

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts; a text without characters gives zeros."""
        return self.vectors(texts)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Embed texts synchronously."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for feature in _features(text):
                code = zlib.crc32(feature.encode())
                row[(code >> 1) % self.dimension] += 1 if code & 1 else -1
        return normalize_rows(rows)


class OverlapReranker:
    """Scores a text by the share of the question's words that it contains. Case is ignored."""

    name = "overlap"

    async def score(self, question: str, texts: Sequence[str]) -> Scores:
        """Score each text, 0 to 1."""
        words = _words(question)
        shares = [len(words & _words(text)) / max(len(words), 1) for text in texts]
        return np.array(shares, np.float32)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _features(text: str) -> Iterator[str]:
    plain = sanitize(text[:_MAX_CHARACTERS]).casefold()
    for word in re.findall(r"\w+", plain):
        yield from (word, word)  # a common word counts for more than a common trigram
    padded = f" {' '.join(plain.split())} "
    if padded.strip():
        yield from (padded[i : i + 3] for i in range(len(padded) - 2))
