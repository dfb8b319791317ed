"""Settings of the methods that keep a session's statements without linking them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from theanine.errors import SettingsError


@dataclass(frozen=True, slots=True, kw_only=True)
class AllMemoriesConfig:
    """There is nothing to set but the tokens.

    Attributes:
        budget: tokens (of the bundled tokenizer) of the recollection, the newest memories first.
    """

    budget: int | None = None

    def __post_init__(self) -> None:
        _check_budget(self.budget)

    @classmethod
    def paper(cls) -> AllMemoriesConfig:
        """All of them."""
        return cls()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRetrievalConfig:
    """How statements are found.

    Attributes:
        retrieved: how many statements are given back.
        retrieval: by cosine (``dense``), by BM25 (``lexical``), or by all evidence (``hybrid``).
        query_turns: how many of the dialogue's last turns make the query; None takes all.
        budget: tokens (of the bundled tokenizer) of the recollection, the best first.
    """

    retrieved: int = 6
    retrieval: Literal["hybrid", "dense", "lexical"] = "hybrid"
    query_turns: int | None = 6
    budget: int | None = None

    def __post_init__(self) -> None:
        if self.retrieved < 1:
            raise SettingsError(f"retrieved must be at least 1, not {self.retrieved}")
        if self.query_turns is not None and self.query_turns < 1:
            raise SettingsError("query_turns must be at least 1, or None for the whole dialogue")
        _check_budget(self.budget)

    @classmethod
    def paper(cls) -> MemoryRetrievalConfig:
        """Theanine's baseline (section 3): top 6 by cosine for the whole dialogue."""
        return cls(retrieval="dense", query_turns=None)


def _check_budget(budget: int | None) -> None:
    if budget is not None and budget < 0:
        raise SettingsError(f"budget must be 0 or more tokens, not {budget}")
