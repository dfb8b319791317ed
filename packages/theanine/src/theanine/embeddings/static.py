"""The default embedder: word vectors averaged, bundled with the installation, no network."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from anyio import to_thread
from numpy.typing import NDArray

from theanine.embeddings import wordllama as bundled
from theanine.embeddings.base import Vectors
from theanine.embeddings.normalize import normalize_rows

if TYPE_CHECKING:
    from tokenizers import Encoding

LONGEST = 4_000
"""Characters of a text that count; the rest of a longer one is left out."""
_BLOCK = 256
_ROWS = 64
_INLINE = 8_000
"""Characters up to which embedding (some 4 ms) is not worth a change of thread."""


class StaticEmbedder:
    """Averages the bundled word vectors of a text's tokens and scales the sum to unit norm.

    The same text gives the same bits, alone or in any batch. A text without a token gives a row of
    zeros. The files are read at first use (about 0.3 s, 30 MB). Safe to share between threads.
    """

    name = bundled.NAME
    dimension = bundled.DIMENSION

    def __init__(self) -> None:
        self._loading = Lock()
        self._loaded = False

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, ``(n, 256)``; big batches are worked off in a worker thread.

        Raises SettingsError when the bundled files are missing.
        """
        size = sum(min(len(text), LONGEST) for text in texts)
        if self._loaded and size <= _INLINE:
            return self.vectors(texts)
        return await to_thread.run_sync(self.vectors, texts)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """The same, without ``await``."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        self._load()
        blocks = (texts[start : start + _BLOCK] for start in range(0, len(texts), _BLOCK))
        return np.concatenate([normalize_rows(_sums(block)) for block in blocks])

    def _load(self) -> None:
        if self._loaded:
            return
        with self._loading:
            bundled.tokenizer()
            bundled.weights()
            self._loaded = True


def _sums(texts: Sequence[str]) -> Vectors:
    """The sum of each text's token vectors; unit norm makes their mean and their sum the same."""
    ids = [encoding.ids for encoding in _encode(texts)]
    sums = np.zeros((len(texts), bundled.DIMENSION), np.float32)
    filled = [row for row, tokens in enumerate(ids) if tokens]
    for start in range(0, len(filled), _ROWS):
        rows = filled[start : start + _ROWS]
        sums[rows] = _pool([ids[row] for row in rows])
    return sums


def _encode(texts: Sequence[str]) -> list[Encoding]:
    cut = [bundled.sanitize(text[:LONGEST]) for text in texts]
    if len(cut) == 1:  # spares the start of the tokenizer's thread pool
        return [bundled.tokenizer().encode(cut[0], add_special_tokens=False)]
    return bundled.tokenizer().encode_batch_fast(cut, add_special_tokens=False)


def _pool(ids: Sequence[Sequence[int]]) -> Vectors:
    """Row sums without padding. Each distinct token is widened to float32 once only."""
    lengths = [len(tokens) for tokens in ids]
    flat = np.fromiter(chain.from_iterable(ids), np.int64, sum(lengths))
    starts: NDArray[np.int64] = np.cumsum([0, *lengths[:-1]])
    distinct, place = np.unique(flat, return_inverse=True)
    wide = bundled.weights()[distinct].astype(np.float32)
    return np.add.reduceat(wide[place], starts, axis=0)
