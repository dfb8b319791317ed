"""What phase I will take of a model, by the way it is asked."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.base import Estimate
from theanine.methods.shared.estimates import (
    count_prompt_tokens,
    count_turn_tokens,
    estimate_statements,
)
from theanine.methods.shared.statements import estimate_summary
from theanine.methods.theanine.config import TheanineConfig
from theanine.methods.theanine.relate import PAIRS_PER_CALL, RELATE, RELATE_PAIR
from theanine.types import Turn

PAIR = 70
"""Tokens of one pair: two statements and the source turns of the older one."""
JUDGEMENT = 35
"""Tokens of one judgement in a reply."""


def estimate(turns: Sequence[Turn], config: TheanineConfig) -> Estimate:
    """Of a session that has earlier ones to be related to, as long as itself."""
    summary = estimate_summary(turns)
    if not config.relation_aware:
        return summary
    memories, said = estimate_statements(turns), count_turn_tokens(turns)
    pairs = memories * config.associates
    if config.relating == "pairs":
        calls, each = pairs, count_prompt_tokens(RELATE_PAIR) + 2 * said
    elif config.relating == "memory":
        calls, each = memories, count_prompt_tokens(RELATE) + said
    else:
        calls, each = -(-pairs // PAIRS_PER_CALL), count_prompt_tokens(RELATE) + said
    return summary + Estimate(
        calls=calls, input_tokens=calls * each + pairs * PAIR, output_tokens=pairs * JUDGEMENT
    )
