"""Retrieval within one scope: index, ranking, reranking, token budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theanine.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from theanine.retrieval.budget import fit_budget, fit_prefix
    from theanine.retrieval.query import Query
    from theanine.retrieval.ranking import Ranking, RankingConfig, Unit
    from theanine.retrieval.rerank import RerankConfig
    from theanine.retrieval.scope_cache import ScopeCache
    from theanine.retrieval.scope_index import RetrievalMode, ScopeIndex

__all__ = [
    "Query",
    "Ranking",
    "RankingConfig",
    "RerankConfig",
    "RetrievalMode",
    "ScopeCache",
    "ScopeIndex",
    "Unit",
    "fit_budget",
    "fit_prefix",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "budget": "fit_budget fit_prefix",
        "query": "Query",
        "ranking": "Ranking RankingConfig Unit",
        "rerank": "RerankConfig",
        "scope_cache": "ScopeCache",
        "scope_index": "RetrievalMode ScopeIndex",
    },
)
