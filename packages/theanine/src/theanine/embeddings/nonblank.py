"""Base class of embedders whose models take no blank texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theanine.embeddings.base import Vectors, normalize_rows
from theanine.errors import ModelRejected
from theanine.tokenizer import sanitize

MAX_CHARACTERS = 8_000
"""Characters of a text that are used; within 8,192 tokens in any script."""


def prepare_text(text: str) -> str:
    """Cut and sanitize a text for a tokenizer."""
    return sanitize(text[:MAX_CHARACTERS])


class NonblankEmbedder:
    """Embeds each distinct text once, in batches; blank ones give a row of zeros.

    Subclasses embed a batch.

    The dimension is that of the first vectors.
    """

    query_end: int | None = None
    """Characters at the end of a query that are used, where the model would cut its end."""

    def __init__(self) -> None:
        self._dimension = 0

    @property
    def name(self) -> str:
        """The full name."""
        raise NotImplementedError

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts."""
        return await self._embed(texts, queries=False)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed queries, which some models distinguish from texts."""
        return await self._embed(texts, queries=True)

    def batches(self, texts: Sequence[str]) -> Iterable[Sequence[str]]:
        """Split texts into those that one call takes, in order."""
        return [texts] if texts else []

    async def embed_batch(self, texts: Sequence[str], *, queries: bool) -> NDArray[Any]:
        """Embed texts that are not blank, ``(n, d)`` of any norm."""
        raise NotImplementedError

    async def _embed(self, texts: Sequence[str], *, queries: bool) -> Vectors:
        start = -self.query_end if queries and self.query_end else 0
        prepared = [prepare_text(text[start:]) for text in texts]
        nonblank = [row for row, text in enumerate(prepared) if text.strip()]
        if not nonblank and not self._dimension:
            await self._embed_nonblank(["dimension"], queries=queries)
        each = {prepared[row]: None for row in nonblank}
        rows = await self._embed_nonblank([*each], queries=queries)
        vectors = np.zeros((len(texts), self._dimension), np.float32)
        if rows:
            places = {text: place for place, text in enumerate(each)}
            vectors[nonblank] = np.concatenate(rows)[[places[prepared[row]] for row in nonblank]]
        return vectors

    async def _embed_nonblank(self, texts: Sequence[str], *, queries: bool) -> list[Vectors]:
        vectors: list[Vectors] = []
        for batch in self.batches(texts):
            rows = await self.embed_batch(batch, queries=queries)
            dimension = self._dimension or rows.shape[-1]
            expected = (len(batch), dimension)
            if rows.shape != expected or not np.isfinite(rows.astype(np.float32)).all():
                raise ModelRejected(
                    f"{self.name} returned vectors of shape {rows.shape} for {len(batch)} texts, "
                    f"or non-finite numbers; expected {dimension} numbers each. Is it an embedder?"
                )
            self._dimension = dimension
            vectors.append(normalize_rows(rows))
        return vectors
