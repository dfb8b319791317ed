"""What the update of a session will take of a model, by the way it is asked."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.base import Estimate
from theanine.methods.memory_update.config import MemoryUpdateConfig
from theanine.methods.memory_update.decide import PAIRS_PER_CALL, UPDATE, UPDATE_PAIR
from theanine.methods.shared.estimates import statements_in, tokens_of_step
from theanine.methods.shared.statements import summary_estimate
from theanine.types import Turn

PAIR = 40
"""Tokens of one pair: the older statement, and its share of the newer one."""
DECISION = 30
"""Tokens of one decision in a reply."""


def estimate(turns: Sequence[Turn], config: MemoryUpdateConfig) -> Estimate:
    """Of a session that has earlier ones to be compared with; a change adds one call to merge."""
    pairs = statements_in(turns) * config.compared
    if config.asking == "pairs":
        calls, each = pairs, tokens_of_step(UPDATE_PAIR)
    else:
        calls, each = -(-pairs // PAIRS_PER_CALL), tokens_of_step(UPDATE)
    return summary_estimate(turns) + Estimate(
        calls=calls, input_tokens=calls * each + pairs * PAIR, output_tokens=pairs * DECISION
    )
