"""Settings of the method that keeps its list of statements up to date."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from theanine.methods.shared.config import check_minimums


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUpdateConfig:
    """How new statements are compared with the live ones, and how statements are found.

    Attributes:
        compared: how many live statements of earlier sessions each new one is compared with: those
            nearest to it by cosine.
        asking: how a model is asked: one call for all pairs of a session, or one for each pair.
        endings: whether a statement that ends an older one ("the flu is over") is itself given
            back; Bae et al. keep neither.
        retrieved: how many statements are given back, where no token budget says how much.
        retrieval: by cosine (``dense``), by BM25 (``lexical``), or by all evidence (``hybrid``).
        query_turns: how many of the dialogue's last turns make the query; None takes all.
        budget: tokens (of the bundled tokenizer) of the recollection, the best first.
    """

    compared: int = 3
    asking: Literal["session", "pairs"] = "session"
    endings: bool = True
    retrieved: int = 6
    retrieval: Literal["hybrid", "dense", "lexical"] = "hybrid"
    query_turns: int | None = 6
    budget: int | None = None

    def __post_init__(self) -> None:
        check_minimums(self, compared=1, retrieved=1, query_turns=1, budget=0)

    @classmethod
    def paper(cls) -> MemoryUpdateConfig:
        """Bae et al. as Theanine (section 3) runs them: by pair, top 6 by cosine of the dialogue.

        The papers do not say how many similar statements are compared; it stays at 3.
        """
        return cls(asking="pairs", endings=False, retrieval="dense", query_turns=None)
