"""Settings of summary buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from theanine.errors import SettingsError
from theanine.methods.shared.config import ReplyConfig, check_minimums


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryBufferConfig(ReplyConfig):
    """Size of the buffer, and length of the summary.

    Attributes:
        buffer: how many of the latest ``unit`` are kept verbatim.
        unit: ``turns``, or ``tokens`` of the bundled tokenizer.
        sentences: maximum sentences of the summary of all earlier turns.
        rewrite: let the model write the whole summary again with each update; what it leaves out is
            gone from the summary. Otherwise a sentence stays until the model names it as outdated
            or includes it in a new one.
        query_turns: number of latest turns of the dialogue that form the query, which ranks
            sentences for a budget; None takes all.
        budget: maximum tokens of the recollection (bundled tokenizer); None sets no limit.
    """

    buffer: int = 20
    unit: Literal["turns", "tokens"] = "turns"
    sentences: int = 20
    rewrite: bool = False
    query_turns: int | None = 6
    budget: int | None = None

    def __post_init__(self) -> None:
        ReplyConfig.__post_init__(self)
        check_minimums(self, sentences=1, query_turns=1, budget=0)
        if self.buffer < 0:
            raise SettingsError(f"buffer must be 0 or more {self.unit}, not {self.buffer}")

    @classmethod
    def paper(cls) -> SummaryBufferConfig:
        """Return SeCom's baseline SumMem: the summary alone, as in the library that it cites."""
        return cls(reply_prompt="transcript", buffer=0, rewrite=True, query_turns=None)
