"""Settings of the methods that keep pieces of the log as they were said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from theanine.methods.shared.validation import check_minimums


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitsConfig:
    """How many pieces are given back, and how they are found.

    Attributes:
        retrieved: N, how many pieces at most, where no token budget says how much.
        budget: tokens (of the bundled tokenizer) that the recollection may have, or None.
        retrieval: by cosine (``dense``), by BM25 (``lexical``), or ``hybrid``: by all
            evidence of :class:`theanine.retrieval.ranking.RankingConfig`.
        query_turns: how many of the dialogue's last turns make the query; None takes all.
    """

    retrieved: int = 6
    budget: int | None = None
    retrieval: Literal["hybrid", "dense", "lexical"] = "hybrid"
    query_turns: int | None = 6

    def __post_init__(self) -> None:
        check_minimums(self, retrieved=1, budget=0, query_turns=1)

    @classmethod
    def paper(cls) -> UnitsConfig:
        """SeCom's baselines: BM25, the whole dialogue as query."""
        return cls(retrieval="lexical", query_turns=None)
