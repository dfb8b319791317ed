"""Estimate the model usage of phase I."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.base import Estimate
from theanine.methods.shared.estimates import (
    STATEMENTS_PER_TURN,
    count_prompt_tokens,
    count_turn_tokens,
    estimate_statements,
)
from theanine.methods.shared.pairs import PAIRS_PER_CALL
from theanine.methods.shared.statements import estimate_summary
from theanine.methods.theanine.config import Linking
from theanine.methods.theanine.relate import RELATE, RELATE_PAIR
from theanine.methods.theanine.relate_session import EARLIER_TOKENS, RELATE_SESSION
from theanine.summarization import SUMMARIZE, SUMMARIZE_KNOWN
from theanine.types import Turn

_PAIR_TOKENS = 70
"""Tokens of two statements and of their source turns."""
_JUDGEMENT_TOKENS = 35
"""Tokens of one judgement in a reply."""
_STATEMENT_TOKENS = 90
"""Tokens of a new statement with its turns, and of two earlier ones."""
_EARLIER_TOKENS = 30
"""Tokens of an earlier statement in the prompt that shows as many as it has room for."""
_KNOWN_TOKENS = 250
"""Tokens of the people and statements that are known from before."""
_LINKS_PER_STATEMENT = 0.5
_LINK_TOKENS = 40
"""Tokens of a link in a reply, of which some say what holds now."""


def estimate(turns: Sequence[Turn], linking: Linking) -> Estimate:
    """Return the cost of a session whose earlier sessions are about as long as itself.

    The earlier statements that the default method shows are in :func:`estimate_earlier`.
    """
    summary = estimate_summary(turns)
    if not linking.relation_aware:
        return summary
    memories, turn_tokens = estimate_statements(turns), count_turn_tokens(turns)
    if linking.relating is None:
        added = count_prompt_tokens(SUMMARIZE_KNOWN) - count_prompt_tokens(SUMMARIZE)
        return summary + Estimate(
            calls=1,
            input_tokens=added
            + _KNOWN_TOKENS
            + count_prompt_tokens(RELATE_SESSION)
            + memories * _STATEMENT_TOKENS,
            output_tokens=round(_LINKS_PER_STATEMENT * memories * _LINK_TOKENS),
        )
    pairs = memories * linking.associates
    if linking.relating == "pairs":
        calls, each = pairs, count_prompt_tokens(RELATE_PAIR) + 2 * turn_tokens
    elif linking.relating == "memory":
        calls, each = memories, count_prompt_tokens(RELATE)
    else:
        calls, each = -(-pairs // PAIRS_PER_CALL), count_prompt_tokens(RELATE)
    return summary + Estimate(
        calls=calls,
        input_tokens=calls * each + pairs * _PAIR_TOKENS,
        output_tokens=pairs * _JUDGEMENT_TOKENS,
    )


def estimate_earlier(turns: int, linking: Linking) -> Estimate:
    """Return what the statements of so many earlier turns add to the cost of a session.

    The default method shows all of them, as far as there is room; the others a fixed number.
    """
    if linking.relating is not None or not linking.relation_aware:
        return Estimate()
    statements = round(STATEMENTS_PER_TURN * turns)
    return Estimate(input_tokens=min(EARLIER_TOKENS, statements * _EARLIER_TOKENS))
