"""Embedders and rerankers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theanine.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from theanine.embeddings.base import Embedder, QueryEmbedder, Reranker, Scores, Vectors
    from theanine.embeddings.hashing import HashEmbedder, OverlapReranker
    from theanine.embeddings.open import open_embedder, open_reranker

__all__ = [
    "Embedder",
    "HashEmbedder",
    "OverlapReranker",
    "QueryEmbedder",
    "Reranker",
    "Scores",
    "Vectors",
    "open_embedder",
    "open_reranker",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "base": "Embedder QueryEmbedder Reranker Scores Vectors",
        "hashing": "HashEmbedder OverlapReranker",
        "open": "open_embedder open_reranker",
    },
)
