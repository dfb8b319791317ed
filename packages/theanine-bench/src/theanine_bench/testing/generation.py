"""Scripted answers to the prompts that generate data, made of the words they are given."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Blocks = Mapping[str, str]
_TURN = re.compile(r"^\[(\d+)\] [^:]*: (.*)$", re.MULTILINE)


def _questions(blocks: Blocks) -> dict[str, Any]:
    turns, count = _TURN.findall(blocks["session"]), int(blocks["count"] or 0)
    chosen = [turns[index % len(turns)] for index in range(count)] if turns else []
    return {
        "questions": [
            {"question": f"Who said: {text}?", "answer": text, "evidence": [int(number)]}
            for number, text in chosen
        ]
    }


STEPS: Mapping[str, Callable[[Blocks], dict[str, Any]]] = {
    "generate-questions": _questions,
    "generate-question": lambda blocks: {
        "question": "What have I told you?",
        "answer": blocks["statement"],
    },
    "generate-continuation": lambda blocks: {
        "user": "Go on with the matter.",
        "assistant": blocks["dialogue"][:200],
    },
    "generate-similar": lambda blocks: {"request": f"Otherwise: {blocks['request']}"},
    "generate-suggestion": lambda _: {"suggestion": "Shorter, please."},
    "generate-background": lambda _: {
        "exchanges": [{"user": "Hello.", "assistant": "Hello to you."}] * 3
    },
}
TEXT_STEPS: Mapping[str, Callable[[Blocks], str]] = {
    "generate-answer": lambda blocks: f"As you ask: {blocks['request']}",
    "generate-improved": lambda blocks: f"In short: {blocks['request']}",
}
