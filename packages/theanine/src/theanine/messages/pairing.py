"""Calls of tools and their results, which chat models' APIs accept in pairs only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from theanine.messages.parts import is_call, is_result, read_call, read_result
from theanine.types import Utterance

T = TypeVar("T", bound=Utterance)

_ANSWERED = frozenset({"function", "custom", "function_call", "custom_tool_call", "tool_use"})
"""Types of the calls that the application answers; the others are run by the provider."""
_OF_ASSISTANT = ("assistant", "tool")


def without_unpaired(turns: Sequence[T], *, pending: bool = True) -> list[T]:
    """Return turns without results that don't follow their call, and calls without their results.

    Nothing of the user may come between them. With ``pending``, calls that may lack a result stay:
    those at the end, and those that the provider runs. ``turns`` have their content.
    """
    kept = list(turns)
    while True:
        paired = _paired(kept, pending)
        if len(paired) == len(kept):
            return kept
        kept = paired


def _paired(turns: Sequence[T], pending: bool) -> list[T]:
    end = len(turns)
    while pending and end and turns[end - 1].role == "tool":
        end -= 1
    results: set[str] = set()
    answered = set[int]()
    for position in reversed(range(len(turns))):
        turn = turns[position]
        results = results.union(_results(turn)) if turn.role in _OF_ASSISTANT else set[str]()
        if position >= end or results.issuperset(_calls(turn, pending)):
            answered.add(position)
    calls: set[str] = set()
    kept: list[T] = []
    for position, turn in enumerate(turns):
        if turn.role not in _OF_ASSISTANT:
            calls = set()
        if position not in answered:
            continue
        calls.update(_calls(turn))
        if calls.issuperset(_results(turn)):
            kept.append(turn)
    return kept


def _calls(turn: Utterance, answered: bool = False) -> list[str]:
    """Return the ids of a turn's calls or, with ``answered``, of those of the application."""
    return [
        read_call(part)[0]
        for part in turn.content
        if is_call(part) and (not answered or part.get("type") in _ANSWERED)
    ]


def _results(turn: Utterance) -> list[str]:
    if turn.role != "tool":
        return []
    if not turn.content:  # without its parts it is a result of an unknown call
        return ["call"]
    return [read_result(part)[0] for part in turn.content if is_result(part)]
