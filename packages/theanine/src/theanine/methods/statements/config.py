"""Settings of memory retrieval."""

from __future__ import annotations

from dataclasses import dataclass

from theanine.methods.shared.config import RecallConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRetrievalConfig(RecallConfig):
    """The settings of :class:`RecallConfig`."""

    @classmethod
    def paper(cls) -> MemoryRetrievalConfig:
        """Return Theanine's baseline (section 3): top 6 by cosine for the whole dialogue."""
        return cls(reply_prompt="transcript", retrieval="dense", query_turns=None)
