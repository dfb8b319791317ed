"""Settings of COMEDY."""

from __future__ import annotations

from dataclasses import dataclass

from theanine.errors import SettingsError
from theanine.methods.shared.config import ReplyConfig, check_minimums

MIN_INPUT_BUDGET = 1_000
"""Tokens; with fewer, hardly any session memories could be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComedyConfig(ReplyConfig):
    """Size of the compressed memory, and what it is made from.

    Attributes:
        sentences: maximum sentences of each of its three parts.
        input_budget: maximum tokens (rough upper count) of session memories in one compression. As
            long as they all fit, all are compressed after each session; beyond that, the previous
            compressed memory and the session memories since. None always shows all.
        compress: False keeps and recalls the session memories themselves (ablation).
        budget: maximum tokens of the recollection (bundled tokenizer); None sets no limit.
    """

    sentences: int = 10
    input_budget: int | None = 8_000
    compress: bool = True
    budget: int | None = None

    def __post_init__(self) -> None:
        ReplyConfig.__post_init__(self)
        check_minimums(self, sentences=1, budget=0)
        if self.input_budget is not None and self.input_budget < MIN_INPUT_BUDGET:
            raise SettingsError(
                f"input_budget must be at least {MIN_INPUT_BUDGET} tokens, not {self.input_budget}"
            )

    @classmethod
    def paper(cls) -> ComedyConfig:
        """Return the paper's way: compress all session memories at once, however many."""
        return cls(reply_prompt="transcript", input_budget=None)
