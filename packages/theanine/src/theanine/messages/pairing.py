"""Calls of tools and their results, which chat models' APIs accept in pairs only."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.messages.parts import is_call, is_result, read_call, read_result
from theanine.types import Turn

_ANSWERED = frozenset({"function", "custom", "function_call", "custom_tool_call", "tool_use"})
"""Types of the calls that the application answers; the others are run by the provider."""


def without_unpaired(turns: Sequence[Turn]) -> list[Turn]:
    """Return turns without results whose call is not among them, and calls without their results.

    The calls at the end stay: their results may follow. ``turns`` have their content.
    """
    kept = list(turns)
    while True:
        paired = _paired(kept)
        if len(paired) == len(kept):
            return kept
        kept = paired


def _paired(turns: Sequence[Turn]) -> list[Turn]:
    end = len(turns)
    while end and turns[end - 1].role == "tool":
        end -= 1
    results = {id_ for turn in turns for id_ in _results(turn)}
    calls: set[str] = set()
    kept: list[Turn] = []
    for position, turn in enumerate(turns):
        if position < end and not results.issuperset(_answered_calls(turn)):
            continue
        calls.update(read_call(part)[0] for part in turn.content if is_call(part))
        if calls.issuperset(_results(turn)):
            kept.append(turn)
    return kept


def _answered_calls(turn: Turn) -> list[str]:
    return [read_call(part)[0] for part in turn.content if part.get("type") in _ANSWERED]


def _results(turn: Turn) -> list[str]:
    if turn.role != "tool":
        return []
    if not turn.content:  # without its parts it is a result of an unknown call
        return ["call"]
    return [read_result(part)[0] for part in turn.content if is_result(part)]
