"""Segments of a session: runs of turns that belong together, and what they must fulfil.

A segmentation is a list of spans, first and last turn included, counted from 0. It *tiles* the
session: the spans are in order, none is empty, none overlaps the next, and no turn is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from theanine.segmentation.exchanges import exchanges
from theanine.types import Utterance

Span = tuple[int, int]
"""The first and the last turn of a segment, counted from 0, both included."""


def tiling_fault(spans: Sequence[Span], turns: int, origin: int = 0) -> str | None:
    """What keeps the spans from tiling that many turns, in words for whoever drew them; or None.

    The turns are counted from ``origin``.
    """
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


def cover_gaps(spans: Iterable[Span], turns: int) -> list[Span]:
    """The spans as a list. Raises ValueError, with the fault named, unless they tile the turns."""
    found = list(spans)
    if fault := tiling_fault(found, turns):
        raise ValueError(fault)
    return found


def spans_of(lengths: Sequence[int]) -> list[Span]:
    """Consecutive segments of these lengths, each at least 1."""
    ends = list(accumulate(lengths))
    return cover_gaps([(end - length, end - 1) for end, length in zip(ends, lengths, strict=True)],
                ends[-1] if ends else 0)  # fmt: skip


def spans_between(starts: Iterable[int], turns: int) -> list[Span]:
    """The segments that begin at turn 0 and at each of ``starts``, which ascend."""
    begin = [0, *starts]
    if turns == 0:
        return []
    return cover_gaps([(a, b - 1) for a, b in zip(begin, [*begin[1:], turns], strict=True)], turns)


def lengths_of(spans: Iterable[Span]) -> list[int]:
    """How many turns each segment has."""
    return [last - first + 1 for first, last in spans]


def fixed_length_spans(size: int, turns: int) -> list[Span]:
    """Segments of ``size`` turns, the last as long as what is left."""
    if size < 1:
        raise ValueError("a segment has at least one turn")
    return spans_between(range(size, turns, size), turns)


def exchange_starts(turns: Sequence[Utterance]) -> list[bool]:
    """For each turn, whether an exchange begins with it: where a segment of exchanges may begin.

    Only where a person talks with an agent. Between peers either may open a topic, at any turn.
    """
    if len({turn.role for turn in turns}) < 2:
        return [True] * len(turns)
    found: list[bool] = []
    for exchange in exchanges(turns):
        found += [True] + [False] * (len(exchange) - 1)
    return found
