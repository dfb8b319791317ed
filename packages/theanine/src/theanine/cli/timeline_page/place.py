"""Where each memory stands on the page: its column in time, and its row in its timelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from theanine.graph import Graph
from theanine.text.words import format_date
from theanine.types import Memory


@dataclass(frozen=True, slots=True)
class Column:
    """A day, part of a day, or an undated session.

    Attributes:
        heading: what stands above it.
        days: how many days after the column before it; 0 where nobody knows.
    """

    heading: str
    days: int


def columns(
    memories: Sequence[Memory], graph: Graph, undated: frozenset[int]
) -> tuple[dict[int, int], list[Column]]:
    """Each memory's column, always after those of what it follows, and the columns in time."""
    moments = _moments(memories, graph)
    found: list[Column] = []
    column: dict[int, int] = {}
    last, began = "", None
    for memory in sorted(memories, key=lambda m: (moments[m.id], m.id)):
        dated, now = memory.session not in undated, len(found) - 1
        name = format_date(moments[memory.id]) if dated else f"session {memory.session}"
        if name != last or any(column.get(one) == now for one in graph.older.get(memory.id, ())):
            at = moments[memory.id].date() if dated else None
            days = (at - began).days if at and began else 0
            same = "later that day" if dated else "later in it"
            found.append(Column(name if name != last else same, days))
            last, began = name, at
        column[memory.id] = len(found) - 1
    return column, found


def _moments(memories: Sequence[Memory], graph: Graph) -> dict[int, datetime]:
    """When each happened; not before what it follows, though sessions may have overlapped."""
    moments: dict[int, datetime] = {}
    for memory in sorted(memories, key=lambda m: m.id):  # a link begins at an earlier number
        before = [moments[one] for one in graph.older.get(memory.id, ()) if one in moments]
        moments[memory.id] = max([memory.at, *before])
    return moments


def later(days: int) -> str:
    """A gap of so many days in words, such as ``5 months later``; empty for the next day."""
    if days < 2:
        return ""
    for most, length, name in ((14, 1, "days"), (60, 7, "weeks"), (730, 30.44, "months")):
        if days < most:
            return f"{round(days / length)} {name} later"
    return f"{round(days / 365.25)} years later"


def rows(members: Sequence[Memory], graph: Graph, column: Mapping[int, int]) -> dict[int, int]:
    """Each memory in the row of what it follows, or in the next one below that is free.

    ``members`` are those of one component, a memory after those that it follows.
    """
    found: dict[int, int] = {}
    taken: set[tuple[int, int]] = set()
    for memory in members:
        before = [older for older in graph.older.get(memory.id, ()) if older in found]
        row = found[before[-1]] if before else 0
        here = column[memory.id]
        # The link along the row needs it free all the way.
        start = column[before[-1]] + 1 if before else here
        while any((between, row) in taken for between in range(start, here + 1)):
            row, start = row + 1, here
        found[memory.id] = row
        taken.update((between, row) for between in range(start, here + 1))
    return found
