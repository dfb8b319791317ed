"""MemoChat's settings, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from theanine.errors import SettingsError
from theanine.methods.shared.config import check_minimums


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoChatConfig:
    """How memos are picked and what is given back of them.

    Attributes:
        retrieved: how many memos are picked for a dialogue at most.
        picking: by the ``model``, from the list of topics and summaries; or by ``retrieval`` alone
            (ablation), as it is done where no model is configured.
        shown: how many memos the model may pick from; where there are more, those that fit the
            dialogue best are found first. None shows all, however many.
        evidence: hand over the turns of each picked memo too; False gives the memos alone
            (ablation).
        retrieval: how memos are found where the model doesn't pick or there are too many:
            ``hybrid`` by all evidence of :class:`theanine.retrieval.ranking.RankingConfig`,
            ``dense`` by cosine, ``lexical`` by BM25.
        query_turns: how many of the dialogue's last turns memos are picked for; None takes all.
        budget: tokens (of the bundled tokenizer) of the recollection, the best memos first.
    """

    retrieved: int = 6
    picking: Literal["model", "retrieval"] = "model"
    shown: int | None = 40
    evidence: bool = True
    retrieval: Literal["hybrid", "dense", "lexical"] = "hybrid"
    query_turns: int | None = 6
    budget: int | None = None

    def __post_init__(self) -> None:
        check_minimums(self, retrieved=1, query_turns=1, budget=0)
        if self.shown is not None and self.shown < self.retrieved:
            raise SettingsError(
                f"shown must be at least retrieved ({self.retrieved}) memos, not {self.shown}"
            )

    @classmethod
    def paper(cls) -> MemoChatConfig:
        """The model picks from all memos, for the whole dialogue."""
        return cls(shown=None, query_turns=None)
