"""Settings of the methods that keep a session's statements without linking them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from theanine.methods.shared.validation import check_minimums


@dataclass(frozen=True, slots=True, kw_only=True)
class AllMemoriesConfig:
    """There is nothing to set but the tokens.

    Attributes:
        budget: tokens (of the bundled tokenizer) of the recollection, the newest memories first.
    """

    budget: int | None = None

    def __post_init__(self) -> None:
        check_minimums(self, budget=0)

    @classmethod
    def paper(cls) -> AllMemoriesConfig:
        """All of them."""
        return cls()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRetrievalConfig:
    """How statements are found.

    Attributes:
        retrieved: how many statements are given back, where no token budget says how much.
        retrieval: by cosine (``dense``), by BM25 (``lexical``), or by all evidence (``hybrid``).
        query_turns: how many of the dialogue's last turns make the query; None takes all.
        budget: tokens (of the bundled tokenizer) of the recollection, the best first.
    """

    retrieved: int = 6
    retrieval: Literal["hybrid", "dense", "lexical"] = "hybrid"
    query_turns: int | None = 6
    budget: int | None = None

    def __post_init__(self) -> None:
        check_minimums(self, retrieved=1, query_turns=1, budget=0)

    @classmethod
    def paper(cls) -> MemoryRetrievalConfig:
        """Theanine's baseline (section 3): top 6 by cosine for the whole dialogue."""
        return cls(retrieval="dense", query_turns=None)
