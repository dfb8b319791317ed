"""Sensible, deterministic answers to the prompts of theanine's own steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from theanine.models.scripted import task_of
from theanine.testing.answers import (
    comedy,
    conditional,
    judges,
    memochat,
    memory_update,
    memorybank,
    recursive_summary,
    secom,
    shared,
    teafarm,
    theanine,
)
from theanine.testing.answers.blocks import Write, blocks_of

UNKNOWN = "This is a scripted model; it knows only the steps of theanine."

STEPS: Mapping[str, Write] = {
    **shared.STEPS,
    **theanine.STEPS,
    **conditional.STEPS,
    **judges.STEPS,
    **memochat.STEPS,
    **memory_update.STEPS,
    **memorybank.STEPS,
    **recursive_summary.STEPS,
    **secom.STEPS,
    **teafarm.STEPS,
    **comedy.STEPS,
}
"""What answers each step, by the step's name."""


def answer(request: Mapping[str, Any]) -> str:
    """A valid answer for any prompt of theanine's, made of the prompt's own words alone.

    Summarize keeps each turn of four words or more; relate tells by shared words and a few cues;
    refine joins the chain; respond repeats what is remembered first.
    """
    users = [m["content"] for m in request.get("messages", ()) if m.get("role") == "user"]
    prompt = users[0] if users and isinstance(users[0], str) else ""
    write = STEPS.get(task_of(prompt) or "")
    return UNKNOWN if write is None else write(blocks_of(prompt))
