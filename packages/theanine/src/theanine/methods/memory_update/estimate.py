"""What the update of a session will take of a model, by the way it is asked."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.base import Estimate
from theanine.methods.memory_update.config import MemoryUpdateConfig
from theanine.methods.memory_update.decide import PAIRS_PER_CALL, UPDATE, UPDATE_PAIR
from theanine.methods.shared.estimates import count_prompt_tokens, estimate_statements
from theanine.methods.shared.statements import estimate_summary
from theanine.types import Turn

PAIR = 40
"""Tokens of one pair: the older statement, and its share of the newer one."""
DECISION = 30
"""Tokens of one decision in a reply."""


def estimate(turns: Sequence[Turn], config: MemoryUpdateConfig) -> Estimate:
    """Of a session that has earlier ones to be compared with; a change adds one call to merge."""
    pairs = estimate_statements(turns) * config.compared
    if config.asking == "pairs":
        calls, each = pairs, count_prompt_tokens(UPDATE_PAIR)
    else:
        calls, each = -(-pairs // PAIRS_PER_CALL), count_prompt_tokens(UPDATE)
    return estimate_summary(turns) + Estimate(
        calls=calls, input_tokens=calls * each + pairs * PAIR, output_tokens=pairs * DECISION
    )
