"""The grid of the drawing: a memory's column is its day, and its row continues a timeline."""

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
        heading: the text above the column.
        days: days since the previous column; 0 if either has no date.
    """

    heading: str
    days: int


def assign_columns(memories: Sequence[Memory], graph: Graph) -> tuple[dict[int, int], list[Column]]:
    """Return each memory's column and the columns in time order.

    A memory's column is always after those of the memories that it follows.
    """
    times: dict[int, datetime] = {}
    for memory in sorted(memories, key=lambda m: m.id):  # links run from lower to higher ids
        older = [times[id] for id in graph.older.get(memory.id, ()) if id in times]
        times[memory.id] = max([memory.at, *older])  # sessions may overlap in time
    columns: list[Column] = []
    column_of: dict[int, int] = {}
    previous_name, previous_date = "", None
    for memory in sorted(memories, key=lambda m: (times[m.id], m.id)):
        current, time = len(columns) - 1, times[memory.id]
        name = format_date(time) if memory.dated else f"session {memory.session}"
        follows = any(column_of.get(id) == current for id in graph.older.get(memory.id, ()))
        if name != previous_name or follows:
            date = time.date() if memory.dated else None
            days = (date - previous_date).days if date and previous_date else 0
            continued = "later that day" if memory.dated else "later that session"
            columns.append(Column(continued if name == previous_name else name, days))
            previous_name, previous_date = name, date
        column_of[memory.id] = len(columns) - 1
    return column_of, columns


def format_gap(days: int) -> str:
    """Return a time span in words, such as ``5 months later``; empty for less than two days."""
    if days < 2:
        return ""
    for limit, length, unit in ((14, 1, "days"), (60, 7, "weeks"), (730, 30.44, "months")):
        if days < limit:
            return f"{round(days / length)} {unit} later"
    return f"{round(days / 365.25)} years later"


def assign_rows(
    component: Sequence[Memory], graph: Graph, column_of: Mapping[int, int]
) -> dict[int, int]:
    """Return each memory's row: that of the memory it follows, or the next free one below.

    ``component`` lists the memories of one component, each after those that it follows.
    """
    rows: dict[int, int] = {}
    occupied: set[tuple[int, int]] = set()
    for memory in component:
        column = start = column_of[memory.id]
        row = 0
        if before := [id for id in graph.older.get(memory.id, ()) if id in rows]:
            # The link along the row needs all columns in between.
            row, start = rows[before[-1]], column_of[before[-1]] + 1
        while any((between, row) in occupied for between in range(start, column + 1)):
            row, start = row + 1, column
        rows[memory.id] = row
        occupied.update((between, row) for between in range(start, column + 1))
    return rows
