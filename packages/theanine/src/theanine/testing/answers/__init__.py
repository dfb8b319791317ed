"""Scripted answers: valid, deterministic replies to each of theanine's prompts."""

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
"""The writer of the answer to each prompt, by the prompt's name."""


GROUP = "theanine.scripted_answers"
"""Entry-point group for answers to a package's own prompts: a mapping of prompt name to writer."""


@cache
def _all_steps() -> Mapping[str, Write]:
    steps = dict(STEPS)
    for point in entry_points(group=GROUP):
        steps.update(point.load())
    return steps


def answer(request: Mapping[str, Any]) -> str:
    """Return a valid answer to any known prompt, made from the text of the prompt.

    For example, ``summarize`` keeps each turn of four words or more, and ``respond`` repeats the
    first recalled statement.
    """
    users = [m["content"] for m in request.get("messages", ()) if m.get("role") == "user"]
    prompt = users[0] if users and isinstance(users[0], str) else ""
    write = _all_steps().get(task_of(prompt) or "")
    return UNKNOWN if write is None else write(blocks_of(prompt))
