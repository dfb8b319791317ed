"""What writing the diary after a session will take of a model."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.base import Estimate
from theanine.methods.memorybank.config import MemoryBankConfig
from theanine.methods.memorybank.diary import TRACKS
from theanine.methods.memorybank.digest import DAY
from theanine.methods.shared.estimates import tokens_of, tokens_of_step
from theanine.text.numbering import windows_of
from theanine.types import Turn

DAY_TOKENS = 200
"""Tokens of a day's events, or of its traits."""
WHOLE_TOKENS = 200
"""Tokens of a digest of all days."""


def estimate(turns: Sequence[Turn], config: MemoryBankConfig) -> Estimate:
    """Of a session that has a quarter as many days before it as a digest is made of at most."""
    windows = len(windows_of(turns))
    if not windows:
        return Estimate()
    tracks = TRACKS if config.personality else TRACKS[:1]
    page = len(TRACKS) * DAY_TOKENS
    wholes = [
        Estimate(
            calls=1,
            input_tokens=tokens_of_step(track.all_step) + (config.days + 3) // 4 * DAY_TOKENS,
            output_tokens=WHOLE_TOKENS,
        )
        for track in tracks
    ]
    days = Estimate(
        calls=windows,
        input_tokens=windows * tokens_of_step(DAY) + tokens_of(turns) + (windows - 1) * page,
        output_tokens=windows * page,
    )
    return sum(wholes, days)
