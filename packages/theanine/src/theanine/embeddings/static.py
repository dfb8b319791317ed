"""The default embedder: averaged word vectors from the ``wordllama`` wheel, without a network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain
from threading import Lock

import numpy as np
from anyio import to_thread
from numpy.typing import NDArray

from theanine.embeddings.base import Vectors, normalize_rows
from theanine.tokenizer import encode, load_tokenizer, wordllama_file

NAME = "wordllama:l2_supercat_256"
DIMENSION = 256
MAX_CHARACTERS = 4_000
"""Characters of a text that are read; the rest of a longer one is left out."""
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_BLOCK = 256
_ROWS = 64
_FEW_TOKENS = 64
"""Up to so many, finding the distinct ones takes longer than converting all."""
_INLINE_CHARACTERS = 8_000
"""Up to this size embedding takes some 4 ms, less than moving to a worker thread is worth."""


class StaticEmbedder:
    """Sums the bundled word vectors of a text's tokens and scales the sum to unit norm.

    The same text gives the same bits, alone or in any batch. A text without tokens gives a row of
    zeros. The files are read at first use (about 0.3 s, 30 MB). Thread-safe.
    """

    name = NAME
    dimension = DIMENSION

    def __init__(self) -> None:
        self._loading = Lock()
        self._loaded = False

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts, ``(n, 256)``; large batches in a worker thread.

        Raises SettingsError when the bundled files are missing.
        """
        size = sum(min(len(text), MAX_CHARACTERS) for text in texts)
        if self._loaded and size <= _INLINE_CHARACTERS:
            return self.vectors(texts)
        return await to_thread.run_sync(self.vectors, texts)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Embed texts synchronously."""
        if not texts:
            return np.zeros((0, DIMENSION), np.float32)
        if not self._loaded:
            with self._loading:
                load_tokenizer()
                _load_weights()
                self._loaded = True
        blocks = (texts[start : start + _BLOCK] for start in range(0, len(texts), _BLOCK))
        return np.concatenate([normalize_rows(_sum_vectors(block)) for block in blocks])


@cache
def bundled_embedder() -> StaticEmbedder:
    """Return the one that is shared by what uses word vectors whatever the embedder of a store."""
    return StaticEmbedder()


def word_vectors(words: Sequence[str]) -> tuple[Vectors, NDArray[np.float32]]:
    """Return the vectors of single words, ``(n, 256)``, unit norm or all zeros, and their weights.

    The weights are the lengths of the words' sums of token vectors, ``(n,)``: large for rare and
    telling words. Unlike an inverse document frequency they do not depend on what was said.
    """
    sums = _sum_vectors(words)
    return normalize_rows(sums), np.asarray(np.linalg.norm(sums, axis=1), np.float32)


@cache
def _load_weights() -> NDArray[np.float16]:
    """Load one row per token of the tokenizer: ``(32000, 256)``, kept as float16 (16 MB)."""
    from safetensors.numpy import load

    return load(wordllama_file(_WEIGHTS).read_bytes())["embedding.weight"]


def _sum_vectors(texts: Sequence[str]) -> Vectors:
    """Sum each text's token vectors: at unit norm, their sum and their mean are the same."""
    ids = [encode(text[:MAX_CHARACTERS]) for text in texts]
    sums = np.zeros((len(texts), DIMENSION), np.float32)
    nonempty = [row for row, tokens in enumerate(ids) if tokens]
    for start in range(0, len(nonempty), _ROWS):
        rows = nonempty[start : start + _ROWS]
        sums[rows] = _sum_rows([ids[row] for row in rows])
    return sums


def _sum_rows(ids: Sequence[Sequence[int]]) -> Vectors:
    """Sum the vectors of each list of tokens, converting each distinct one to float32 only once."""
    lengths = [len(tokens) for tokens in ids]
    flat = np.fromiter(chain.from_iterable(ids), np.int64, sum(lengths))
    starts: NDArray[np.int64] = np.cumsum([0, *lengths[:-1]])
    if len(flat) <= _FEW_TOKENS:
        return np.add.reduceat(_load_weights()[flat].astype(np.float32), starts, axis=0)
    distinct, positions = np.unique(flat, return_inverse=True)
    vectors = _load_weights()[distinct].astype(np.float32)
    return np.add.reduceat(vectors[positions], starts, axis=0)
