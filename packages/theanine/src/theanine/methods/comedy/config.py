"""COMEDY's settings, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from theanine.errors import SettingsError
from theanine.methods.shared.config import check_minimums

LEAST_INPUT = 1_000
"""Tokens below which a compression could hardly be shown what it is to sum up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComedyConfig:
    """How much the compressed memory may hold, and what it is made of.

    Attributes:
        sentences: how many sentences each of its three parts may have.
        input_budget: tokens (a rough upper count) of session memories that one compression may be
            shown. While all of them fit, all are compressed anew after each session; from then on
            the earlier compressed memory is, with the session memories since. None always shows
            all of them.
        compress: False keeps the session memories as they are and gives all of them back
            (ablation).
        budget: tokens (of the bundled tokenizer) of the recollection.
    """

    sentences: int = 10
    input_budget: int | None = 8_000
    compress: bool = True
    budget: int | None = None

    def __post_init__(self) -> None:
        check_minimums(self, sentences=1, budget=0)
        if self.input_budget is not None and self.input_budget < LEAST_INPUT:
            raise SettingsError(
                f"input_budget must be at least {LEAST_INPUT} tokens, not {self.input_budget}"
            )

    @classmethod
    def paper(cls) -> ComedyConfig:
        """All session memories are compressed at once, however many there are."""
        return cls(input_budget=None)
