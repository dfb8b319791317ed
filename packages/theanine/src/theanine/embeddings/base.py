"""Ports to embedders and rerankers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:  # most commands make no vectors, and numpy takes long to load
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"
"""``(n, d)`` float32; each row has unit norm, or is all zero for a text with no known token."""
Scores: TypeAlias = "NDArray[np.float32]"
"""``(n,)`` float32: how well each text answers a question; higher is better, no fixed scale."""


class Embedder(Protocol):
    """Maps texts to vectors."""

    @property
    def name(self) -> str:
        """The embedder's full name; vectors of different names are never mixed."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts: one row each, in order; ``(0, d)`` for no texts.

        Raises ModelUnavailable or ModelRejected, as a chat model does.
        """
        ...


@runtime_checkable
class QueryEmbedder(Protocol):
    """An embedder that treats queries differently from the texts that are searched."""

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Embed queries in the space of ``embed``; raises as ``embed`` does."""
        ...


class Reranker(Protocol):
    """Reads a question and a text together: more accurate and slower than comparing vectors."""

    @property
    def name(self) -> str:
        """The reranker's full name."""
        ...

    async def score(self, question: str, texts: Sequence[str]) -> Scores:
        """Score each text, in order; a text's score does not depend on the other texts.

        Raises ModelUnavailable or ModelRejected, as an embedder does.
        """
        ...


async def embed_queries(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Embed queries with ``embed_queries`` if the embedder has it, else with ``embed``."""
    embed = getattr(embedder, "embed_queries", embedder.embed)
    return await embed(texts)


def normalize_rows(rows: NDArray[Any]) -> Vectors:
    """Divide each row of ``(n, d)`` by its norm, as float32; a row of zeros stays zero."""
    import numpy as np

    converted = rows.astype(np.float32)
    norms = np.sqrt(np.einsum("ij,ij->i", converted, converted))
    norms[norms == 0] = 1
    return np.divide(converted, norms[:, np.newaxis], dtype=np.float32)
