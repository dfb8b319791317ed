"""Settings of the methods that keep a session's statements without linking them."""

from __future__ import annotations

from dataclasses import dataclass

from theanine.methods.shared.config import RecallConfig, check_minimums


@dataclass(frozen=True, slots=True, kw_only=True)
class AllMemoriesConfig:
    """The token budget of the recollection.

    Attributes:
        budget: maximum tokens (bundled tokenizer), newest memories first; None sets no limit.
    """

    budget: int | None = None

    def __post_init__(self) -> None:
        check_minimums(self, budget=0)

    @classmethod
    def paper(cls) -> AllMemoriesConfig:
        """Return the defaults: all memories."""
        return cls()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRetrievalConfig(RecallConfig):
    """The settings of :class:`RecallConfig`."""

    @classmethod
    def paper(cls) -> MemoryRetrievalConfig:
        """Return Theanine's baseline (section 3): top 6 by cosine for the whole dialogue."""
        return cls(retrieval="dense", query_turns=None)
