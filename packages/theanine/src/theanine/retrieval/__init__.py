"""Retrieval within one scope: index, ranking, reranking, token budgets."""

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
