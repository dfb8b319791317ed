"""Segments of a session as spans of turns, and exchanges.

A span is the first and the last turn of a segment, both included, counted from 0. Spans *tile* a
session if they are in order, nonempty, and cover each turn exactly once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby, pairwise
from typing import TypeVar

from theanine.types import Utterance

U = TypeVar("U", bound=Utterance)

Span = tuple[int, int]
"""First and last turn of a segment, counted from 0, both included."""

MAX_SIDE_TURNS = 8
"""Most turns in a row by one side that are one exchange with the other side's."""


def exchanges(turns: Sequence[U]) -> list[list[U]]:
    """Split turns into exchanges: what one side says, and the other side's answers.

    The side that opens each exchange is the user, or whoever spoke first if all roles are the same.
    An exchange has at most ``MAX_SIDE_TURNS`` turns of each side, those next to the first answer. A
    turn beyond them, one without an answer, and one that answers nothing are exchanges of their
    own.
    """
    if not turns:
        return []
    roles = {turn.role for turn in turns}
    first_speaker = turns[0].speaker

    def opens(turn: U) -> bool:
        return turn.role == "user" if len(roles) > 1 else turn.speaker == first_speaker

    result: list[list[U]] = []
    opening: list[U] = []
    for side_opens, group in groupby(turns, key=opens):
        side = list(group)
        if side_opens:
            opening = side
            continue
        early = max(len(opening) - MAX_SIDE_TURNS, 0)
        answers = side[:MAX_SIDE_TURNS] if opening else []
        result += [[turn] for turn in opening[:early]]
        result += [[*opening[early:], *answers]] if opening else []
        result += [[turn] for turn in side[len(answers) :]]
        opening = []
    return result + [[turn] for turn in opening]


def exchange_starts(turns: Sequence[Utterance]) -> list[bool]:
    """Return for each turn whether a segment may begin with it.

    With the assistant, only where an exchange begins; between peers, who may both open a topic, at
    every turn.
    """
    if len({turn.role for turn in turns}) < 2:
        return [True] * len(turns)
    starts: list[bool] = []
    for exchange in exchanges(turns):
        starts += [True] + [False] * (len(exchange) - 1)
    return starts


def tiling_fault(spans: Sequence[Span], turns: int, origin: int = 0) -> str | None:
    """Return why the spans don't tile ``turns`` turns, or None; turns count from ``origin``."""
    expected = origin
    for first, last in spans:
        if last < first:
            return f"the segment {first} to {last} ends before it begins"
        if last >= origin + turns:
            return f"the segment {first} to {last} passes the last turn, {origin + turns - 1}"
        if first > expected:
            return f"turn {expected} is in no segment"
        if first < expected:
            return f"the segment {first} to {last} takes up turn {first} again"
        expected = last + 1
    return f"turn {expected} is in no segment" if expected < origin + turns else None


def check_tiling(spans: Iterable[Span], turns: int) -> list[Span]:
    """Return the spans as a list; raise ValueError unless they tile the turns."""
    checked = list(spans)
    if fault := tiling_fault(checked, turns):
        raise ValueError(fault)
    return checked


def spans_of(lengths: Sequence[int]) -> list[Span]:
    """Return consecutive spans of these lengths, each at least 1."""
    ends = list(accumulate(lengths))
    spans = [(end - length, end - 1) for end, length in zip(ends, lengths, strict=True)]
    return check_tiling(spans, ends[-1] if ends else 0)


def spans_between(starts: Iterable[int], turns: int) -> list[Span]:
    """Return the spans that begin at turn 0 and at each of ``starts``, in ascending order."""
    if turns == 0:
        return []
    bounds = [0, *starts, turns]
    return check_tiling([(start, end - 1) for start, end in pairwise(bounds)], turns)


def fixed_length_spans(size: int, turns: int) -> list[Span]:
    """Return spans of ``size`` turns; the last may be shorter."""
    if size < 1:
        raise ValueError("a segment has at least one turn")
    return spans_between(range(size, turns, size), turns)


def lengths_of(spans: Iterable[Span]) -> list[int]:
    """Return the number of turns of each span."""
    return [last - first + 1 for first, last in spans]
