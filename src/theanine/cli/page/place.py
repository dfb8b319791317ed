"""Where each memory stands on the page: a column for each day, and rows without overlaps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from theanine.graph import Graph
from theanine.memory import Link, Memory
from theanine.steps.words import day

Cell = tuple[int, int]
"""Column and row."""
Rows = dict[int, tuple[int, int]]
"""For each row, the first and the last column that is taken."""


def columns(
    memories: Sequence[Memory], undated: frozenset[int]
) -> tuple[dict[int, int], list[str]]:
    """Each memory's column, and each column's heading: a day, or an undated session."""
    headings: list[str] = []
    column: dict[int, int] = {}
    for memory in sorted(memories, key=lambda m: m.order):
        heading = day(memory.at)
        if memory.session in undated:
            heading = f"session {memory.session}"
        if not headings or headings[-1] != heading:
            headings.append(heading)
        column[memory.id] = len(headings) - 1
    return column, headings


def cells(
    memories: Sequence[Memory], links: Sequence[Link], column: Mapping[int, int]
) -> dict[int, Cell]:
    """A cell for each memory: linked ones close to each other, the largest components on top."""
    graph = Graph(links)
    components: defaultdict[int, list[Memory]] = defaultdict(list)
    for memory in sorted(memories, key=lambda m: m.order):
        components[graph.component(memory.id)].append(memory)
    taken: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    placed: dict[int, Cell] = {}
    for members in sorted(components.values(), key=lambda c: (-len(c), c[0].order)):
        rows = _rows(members, graph, column)
        spans = _spans(rows, column)
        shift = next(s for s in range(len(placed) + 1) if _free(spans, taken, s))
        for row, span in spans.items():
            taken[row + shift].append(span)
        placed.update({n: (column[n], row + shift) for n, row in rows.items()})
    return placed


def _rows(members: Sequence[Memory], graph: Graph, column: Mapping[int, int]) -> dict[int, int]:
    """Each memory in the row of what it follows, or in the next one below that is free."""
    rows: dict[int, int] = {}
    taken: set[Cell] = set()
    for memory in members:
        before = [older for older in graph.older.get(memory.id, ()) if older in rows]
        row = rows[before[-1]] if before else 0
        here = column[memory.id]
        # The edge along the row needs it free all the way, or it would run behind other memories.
        start = min(column[before[-1]] + 1, here) if before else here
        while any((between, row) in taken for between in range(start, here + 1)):
            row, start = row + 1, here
        rows[memory.id] = row
        taken.update((between, row) for between in range(start, here + 1))
    return rows


def _spans(rows: Mapping[int, int], column: Mapping[int, int]) -> Rows:
    spans: Rows = {}
    for number, row in rows.items():
        first, last = spans.get(row, (column[number], column[number]))
        spans[row] = (min(first, column[number]), max(last, column[number]))
    return spans


def _free(spans: Rows, taken: Mapping[int, Sequence[tuple[int, int]]], shift: int) -> bool:
    return all(
        last < other_first or other_last < first
        for row, (first, last) in spans.items()
        for other_first, other_last in taken.get(row + shift, ())
    )
