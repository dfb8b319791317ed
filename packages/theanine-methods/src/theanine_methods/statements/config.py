"""Settings of all memories and of memory retrieval."""

from __future__ import annotations

from dataclasses import dataclass

from theanine.methods.shared.config import BudgetConfig, RecallConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class AllMemoriesConfig(BudgetConfig):
    """The settings of :class:`BudgetConfig`."""

    @classmethod
    def paper(cls) -> AllMemoriesConfig:
        """Return Theanine's baseline (section 3)."""
        return cls(reply_prompt="transcript", temperature=0.75)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRetrievalConfig(RecallConfig):
    """The settings of :class:`RecallConfig`."""

    @classmethod
    def paper(cls) -> MemoryRetrievalConfig:
        """Return Theanine's baseline (section 3): top 6 by cosine for the whole dialogue."""
        return cls(
            reply_prompt="transcript",
            temperature=0.75,
            retrieval="dense",
            query_turns=None,
            query_names=True,
        )
