"""Ports to embedders and rerankers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""``(n, d)`` float32; each row has unit norm, or is all zero for a text with no known token."""
Scores = NDArray[np.float32]
"""``(n,)`` float32: how well each text answers a question, higher is better; no fixed scale."""


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """The embedder's full name; vectors of different names are never mixed."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, in order; ``(0, d)`` for none.

        Raises ModelUnavailable or ModelRejected, as a chat model does.
        """
        ...


@runtime_checkable
class QueryEmbedder(Protocol):
    """An embedder that takes questions otherwise than what they are asked of."""

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One row a question, in the space of ``embed``; raises as that does."""
        ...


class Reranker(Protocol):
    """Reads a question and a text together, which costs more than comparing their vectors."""

    @property
    def name(self) -> str:
        """The reranker's full name."""
        ...

    async def score(self, question: str, texts: Sequence[str]) -> Scores:
        """One number a text, in order; the same texts get the same numbers in any order.

        Raises ModelUnavailable or ModelRejected, as an embedder does.
        """
        ...
