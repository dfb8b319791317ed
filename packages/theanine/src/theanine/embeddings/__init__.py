"""Embedders and rerankers."""

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
