"""Recursive summary's settings, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from theanine.errors import SettingsError
from theanine.methods.shared.config import check_minimums

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
        check_minimums(self, sentences=1, utterances=0, query_turns=1, budget=0)
        if not 0 <= self.demonstrations <= EXAMPLES:
            raise SettingsError(f"demonstrations must be 0 to {EXAMPLES}")

    @classmethod
    def paper(cls) -> RecursiveSummaryConfig:
        """The paper's values: 20 sentences alone; BM25 where utterances are added (section 6.4)."""
        return cls(retrieval="lexical", query_turns=None)
