"""Settings of the methods that keep excerpts of the log."""

from __future__ import annotations

from dataclasses import dataclass

from theanine.methods.shared.config import RecallConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitsConfig(RecallConfig):
    """The settings of :class:`RecallConfig`."""

    @classmethod
    def paper(cls) -> UnitsConfig:
        """Return SeCom's baselines: BM25, with the whole dialogue as query."""
        return cls(reply_prompt="transcript", retrieval="lexical", query_turns=None)
