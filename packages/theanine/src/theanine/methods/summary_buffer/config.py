"""Summary buffer's settings, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from theanine.errors import SettingsError
from theanine.methods.shared.config import check_minimums


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryBufferConfig:
    """How much stays verbatim, and how long the summary of the rest may be.

    Attributes:
        buffer: how much of what was said last is kept verbatim.
        unit: what ``buffer`` counts: ``turns``, or ``tokens`` of the bundled tokenizer.
        sentences: how many sentences the summary of all older turns may have.
        query_turns: how many of the dialogue's last turns make the query, which tells what fits
            where a budget cuts; None takes all.
        budget: tokens (of the bundled tokenizer) of the recollection.
    """

    buffer: int = 20
    unit: Literal["turns", "tokens"] = "turns"
    sentences: int = 20
    query_turns: int | None = 6
    budget: int | None = None

    def __post_init__(self) -> None:
        check_minimums(self, sentences=1, query_turns=1, budget=0)
        if self.buffer < 0:
            raise SettingsError(f"buffer must be 0 or more {self.unit}, not {self.buffer}")

    @classmethod
    def paper(cls) -> SummaryBufferConfig:
        """2,000 tokens verbatim, as the library that SeCom cites has it; it names no figures."""
        return cls(buffer=2_000, unit="tokens", query_turns=None)
