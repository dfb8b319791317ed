"""What remembering a session will take of a model: rough counts, made before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theanine.llm.prompt import PromptTemplate
from theanine.tokenizer import count_tokens
from theanine.types import Turn

LINE = 12
"""Tokens that a turn's number, speaker and place take in a prompt."""
STATEMENTS_A_TURN = 0.4
"""Statements that a model makes of a turn: 8 of 20."""
STATEMENT = 45
"""Tokens of one statement in a reply, with its speakers and turns."""


def count_turn_tokens(turns: Sequence[Turn]) -> int:
    """Tokens of the turns as a prompt quotes them."""
    return sum(count_tokens(turn.full_text) + LINE for turn in turns)


def count_prompt_tokens(step: PromptTemplate[Any]) -> int:
    """Tokens of a step's prompt before anything is put in, with the shape that it asks for."""
    return count_tokens(step.template) + (60 if step.result is not str else 0)


def estimate_statements(turns: Sequence[Turn]) -> int:
    """How many statements a model is likely to make of the turns."""
    return round(STATEMENTS_A_TURN * len(turns))
