"""Recursive summary's settings, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from theanine.errors import SettingsError

EXAMPLES = 3
"""Demonstrations that the file of them holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecursiveSummaryConfig:
    """How long the summary may be, and what stands beside it.

    Attributes:
        sentences: how many sentences the summary may have.
        demonstrations: worked examples that the model is shown before a reply, 0 to 3.
        utterances: past utterances recalled beside the summary (the paper's "local memory"); 0
            keeps and recalls none. They are kept of the sessions that are remembered with it.
        retrieval: how those are found: by BM25 (``lexical``), by cosine (``dense``), or ``hybrid``:
            by all evidence of :class:`theanine.retrieval.ranking.RankingConfig`.
        query_turns: how many of the dialogue's last turns make the query; None takes all.
        budget: tokens (of the bundled tokenizer) of the recollection, the sentences that fit best
            first.
    """

    sentences: int = 20
    demonstrations: int = 0
    utterances: int = 0
    retrieval: Literal["lexical", "dense", "hybrid"] = "hybrid"
    query_turns: int | None = 6
    budget: int | None = None

    def __post_init__(self) -> None:
        if self.sentences < 1:
            raise SettingsError(f"sentences must be at least 1, not {self.sentences}")
        if not 0 <= self.demonstrations <= EXAMPLES:
            raise SettingsError(f"demonstrations must be 0 to {EXAMPLES}")
        if self.utterances < 0:
            raise SettingsError(f"utterances must be 0 or more, not {self.utterances}")
        if self.query_turns is not None and self.query_turns < 1:
            raise SettingsError("query_turns must be at least 1, or None for the whole dialogue")
        if self.budget is not None and self.budget < 0:
            raise SettingsError(f"budget must be 0 or more tokens, not {self.budget}")

    @classmethod
    def paper(cls) -> RecursiveSummaryConfig:
        """The paper's values: 20 sentences alone; BM25 where utterances are added (section 6.4)."""
        return cls(retrieval="lexical", query_turns=None)
