"""What remembering a session will about take of a model, by what is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from theanine.methods.base import Estimate
from theanine.methods.conditional.config import CONDITIONAL, SUMMARY, ConditionalConfig
from theanine.methods.conditional.decide import DECIDE, decisions, users_turns
from theanine.methods.conditional.local_decide import local_decide
from theanine.methods.conditional.record import RECORD, RECORDS_PER_CALL
from theanine.methods.conditional.summary import SUMMARIZE_SESSION
from theanine.methods.shared.estimates import count_prompt_tokens, count_turn_tokens
from theanine.text.numbering import split_windows
from theanine.types import Turn

RECORD_TOKENS = 110
"""Tokens of one record in a reply."""
SUMMARY_TOKENS = 130
"""Tokens of one summary."""
NUMBER_TOKENS = 3
"""Tokens of one number in a list."""


def estimate(turns: Sequence[Turn], config: ConditionalConfig) -> Estimate:
    """Which turns are worth a record is told by the notes, or else as it is without a model."""
    total = Estimate()
    if not any(turn.full_text.strip() for turn in turns):
        return total
    said, calls = count_turn_tokens(turns), len(split_windows(turns))
    if SUMMARY in config.views:
        sent = calls * count_prompt_tokens(SUMMARIZE_SESSION) + said
        total += Estimate(calls=calls, input_tokens=sent, output_tokens=calls * SUMMARY_TOKENS)
    if CONDITIONAL not in config.views:
        return total
    chosen = users_turns(turns)
    if config.selection:
        known = decisions(turns)
        undecided = [turn for turn in chosen if turn.id not in known]
        worth = local_decide(turns)
        chosen = [turn for turn in chosen if known.get(turn.id, turn.id in worth)]
        if undecided:
            sent = calls * count_prompt_tokens(DECIDE) + said + NUMBER_TOKENS * len(undecided)
            answered = NUMBER_TOKENS * len(chosen) + 10 * calls
            total += Estimate(calls=calls, input_tokens=sent, output_tokens=answered)
    return total + _records(turns, chosen, config)


def _records(turns: Sequence[Turn], chosen: Sequence[Turn], config: ConditionalConfig) -> Estimate:
    if not chosen:
        return Estimate()
    ids = {turn.id for turn in chosen}
    if config.recording == "turn":
        calls = len(chosen)
        until = accumulate(count_turn_tokens([turn]) for turn in turns)
        shown = sum(said for turn, said in zip(turns, until, strict=True) if turn.id in ids)
    else:
        calls = max(len(split_windows(turns)), -(-len(chosen) // RECORDS_PER_CALL))
        shown = count_turn_tokens(turns) * -(-len(chosen) // RECORDS_PER_CALL)
    return Estimate(
        calls=calls,
        input_tokens=calls * count_prompt_tokens(RECORD) + shown + NUMBER_TOKENS * len(chosen),
        output_tokens=len(chosen) * RECORD_TOKENS,
    )
