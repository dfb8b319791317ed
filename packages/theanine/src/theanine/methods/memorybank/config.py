"""Settings of the method that keeps a diary and a portrait, and lets memories fade."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from theanine.methods.shared.config import check_minimums


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBankConfig:
    """What is kept beside the exchanges, how pieces are found, and whether they fade.

    Attributes:
        personality: whether traits are noted each day and joined to a portrait (ablation).
        days: how many daily digests, the newest, a global one is made of; of older days the
            global digest before it speaks.
        forgetting: whether a piece ranks the lower the longer ago it was said or last recalled, by
            Ebbinghaus' curve in days.
        retrieved: how many pieces are given back: exchanges, and digests of single days.
        retrieval: by cosine (``dense``), by BM25 (``lexical``), or by all evidence (``hybrid``).
        query_turns: how many of the dialogue's last turns make the query; None takes all.
        budget: tokens (of the bundled tokenizer) of the recollection, the best pieces first.
    """

    personality: bool = True
    days: int = 30
    forgetting: bool = False
    retrieved: int = 6
    retrieval: Literal["hybrid", "dense", "lexical"] = "hybrid"
    query_turns: int | None = 6
    budget: int | None = None

    def __post_init__(self) -> None:
        check_minimums(self, days=1, retrieved=1, query_turns=1, budget=0)

    @classmethod
    def paper(cls) -> MemoryBankConfig:
        """MemoryBank's own: dense retrieval by the last turn, and fading.

        Its paper gives no number of pieces; 6 is the one in its published program.
        """
        return cls(forgetting=True, retrieval="dense", query_turns=1)
