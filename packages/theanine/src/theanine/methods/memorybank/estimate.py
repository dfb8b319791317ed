"""What writing the diary after a session will take of a model."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.base import Estimate
from theanine.methods.memorybank.config import MemoryBankConfig
from theanine.methods.memorybank.diary import TRACKS
from theanine.methods.memorybank.digest import DAY
from theanine.methods.shared.estimates import count_prompt_tokens, count_turn_tokens
from theanine.text.numbering import split_windows
from theanine.types import Turn

DAY_TOKENS = 200
"""Tokens of a day's events, or of its traits."""
WHOLE_TOKENS = 200
"""Tokens of a digest of all days."""


def estimate(turns: Sequence[Turn], config: MemoryBankConfig) -> Estimate:
    """Of a session that has a quarter as many days before it as a digest is made of at most."""
    windows = len(split_windows(turns))
    if not windows:
        return Estimate()
    tracks = TRACKS if config.personality else TRACKS[:1]
    page = len(TRACKS) * DAY_TOKENS
    wholes = [
        Estimate(
            calls=1,
            input_tokens=count_prompt_tokens(track.all_step) + (config.days + 3) // 4 * DAY_TOKENS,
            output_tokens=WHOLE_TOKENS,
        )
        for track in tracks
    ]
    days = Estimate(
        calls=windows,
        input_tokens=windows * count_prompt_tokens(DAY)
        + count_turn_tokens(turns)
        + (windows - 1) * page,
        output_tokens=windows * page,
    )
    return sum(wholes, days)
