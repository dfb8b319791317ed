"""Sensible, deterministic answers to the prompts of theanine's own steps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from theanine.testing.answers import (
    comedy,
    conditional,
    memochat,
    memory_update,
    memorybank,
    recursive_summary,
    secom,
    shared,
    theanine,
)
from theanine.testing.answers.blocks import Write, blocks_of
from theanine.testing.scripted import task_of

UNKNOWN = "This is a scripted model; it knows only the steps of theanine."

STEPS: Mapping[str, Write] = {
    **shared.STEPS,
    **theanine.STEPS,
    **conditional.STEPS,
    **memochat.STEPS,
    **memory_update.STEPS,
    **memorybank.STEPS,
    **recursive_summary.STEPS,
    **secom.STEPS,
    **comedy.STEPS,
}
"""What answers each step, by the step's name."""


GROUP = "theanine.scripted_answers"
"""Entry-point group in which a package offers answers to its own prompts: step name → writer."""


@cache
def _all_steps() -> Mapping[str, Write]:
    steps = dict(STEPS)
    for point in entry_points(group=GROUP):
        steps.update(point.load())
    return steps


def answer(request: Mapping[str, Any]) -> str:
    """Return a valid answer to any known prompt, made of the prompt's own words.

    Summarize keeps each turn of four words or more; relate uses shared words and a few cues; refine
    joins the chain; respond repeats the first recalled statement.
    """
    users = [m["content"] for m in request.get("messages", ()) if m.get("role") == "user"]
    prompt = users[0] if users and isinstance(users[0], str) else ""
    write = _all_steps().get(task_of(prompt) or "")
    return UNKNOWN if write is None else write(blocks_of(prompt))
