"""Rough estimates of the model usage of remembering a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theanine.llm.prompt import PromptTemplate
from theanine.tokenizer import count_tokens
from theanine.types import Turn

_LINE_TOKENS = 12
"""Tokens of a turn's number, speaker and role in a prompt."""
STATEMENTS_PER_TURN = 0.4
STATEMENT_TOKENS = 45
"""Tokens of one statement in a reply, with its speakers and turns."""


def count_turn_tokens(turns: Sequence[Turn]) -> int:
    """Return the tokens of the turns as quoted in a prompt."""
    return sum(count_tokens(turn.full_text) + _LINE_TOKENS for turn in turns)


def count_prompt_tokens(prompt: PromptTemplate[Any]) -> int:
    """Return the tokens of a prompt template and of its reply schema."""
    return count_tokens(prompt.template) + (60 if prompt.result is not str else 0)


def estimate_statements(turns: Sequence[Turn]) -> int:
    """Return how many statements a model is likely to make of the turns."""
    return round(STATEMENTS_PER_TURN * len(turns))
