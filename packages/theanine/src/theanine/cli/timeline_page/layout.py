"""The layout of a memory graph, in pixels: columns of time, and a lane for each component."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import log2

from theanine.cli.timeline_page.grid import Column, assign_columns, assign_rows, format_gap
from theanine.cli.timeline_page.routing import END, HEIGHT, START, TRACK, Point, Routes, route_links
from theanine.graph import Graph
from theanine.types import Link, Memory

WIDTH = 224
"""Width of a memory."""
EDGE = 14
"""Margin around memories and lanes."""
LABEL = 96
"""Space for a link's label and arrowhead before the memory where it ends."""
TITLE = 16
"""Space for a lane's title above its first row."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A component from its ``first`` to its ``last`` column; ``routes`` is None without links."""

    rows: dict[int, int]
    first: int
    last: int
    routes: Routes | None

    @property
    def height(self) -> int:
        """Height including the margin below."""
        return (HEIGHT if self.routes is None else TITLE + self.routes.height) + EDGE

    def card(self, memory: int) -> tuple[int, int]:
        """Return a memory's distance from the lane's top, and its height."""
        if self.routes is None:
            return 0, HEIGHT
        row = self.rows[memory]
        return TITLE + self.routes.tops[row], self.routes.heights[row]


class Layout:
    """The position of everything on the page. Links must join two of the memories.

    Attributes:
        width, height: size of the whole graph.
        columns: heading and middle of each column.
        gaps: text, left edge and width of each gap in time.
        lanes: left, top, width, height and number of memories of each component with links.
        cards: left, top and height of each memory, by its id.
        lines: the corners of each link, by (older, newer).
        labels: memory, relation, and the arrowhead's position, of each end of links.
        unlinked_top: where the memories without links begin; None unless there are others too.
    """

    def __init__(self, memories: Sequence[Memory], links: Sequence[Link]) -> None:
        graph = Graph(links)
        self._column_of, columns = assign_columns(memories, graph)
        linked, unlinked = self._make_lanes(memories, links, graph)
        self._place_columns(columns, linked)
        linked_tops, bottom = _stack(linked, EDGE)
        self.unlinked_top = bottom if linked and unlinked else None
        start = bottom if self.unlinked_top is None else bottom + TITLE + EDGE
        unlinked_tops, self.height = _stack(unlinked, start)
        self.columns = [
            (column.heading, left + WIDTH // 2)
            for column, left in zip(columns, self._lefts, strict=False)
        ]
        self.lanes: list[tuple[int, ...]] = []
        self.cards: dict[int, tuple[int, int, int]] = {}
        self.lines: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self.labels: list[tuple[int, str, int, int]] = []
        lanes, tops = [*linked, *unlinked], [*linked_tops, *unlinked_tops]
        for lane, top in zip(lanes, tops, strict=True):
            self._place_lane(lane, top)

    def _make_lanes(
        self, memories: Sequence[Memory], links: Sequence[Link], graph: Graph
    ) -> tuple[list[Lane], list[Lane]]:
        """Return the components with links and the memories without, each in time order."""
        components: defaultdict[int, list[Memory]] = defaultdict(list)
        links_of: defaultdict[int, list[Link]] = defaultdict(list)
        for memory in sorted(memories, key=lambda m: (self._column_of[m.id], m.order)):
            components[graph.component(memory.id)].append(memory)
        for link in links:
            links_of[graph.component(link.newer)].append(link)
        lanes: list[Lane] = []
        for id, members in components.items():
            rows = assign_rows(members, graph, self._column_of)
            routes = route_links(rows, self._column_of, links_of[id]) if links_of[id] else None
            first, last = self._column_of[members[0].id], self._column_of[members[-1].id]
            lanes.append(Lane(rows, first, last, routes))
        linked = [lane for lane in lanes if lane.routes]
        linked.sort(key=lambda lane: (lane.first, -len(lane.rows)))
        return linked, [lane for lane in lanes if not lane.routes]

    def _place_columns(self, columns: Sequence[Column], lanes: Sequence[Lane]) -> None:
        """Set the columns' left edges, by the width of the gutter after each."""
        tracks: defaultdict[int, int] = defaultdict(int)
        labelled: set[int] = set()
        for lane in lanes:
            if lane.routes:
                for gutter, count in lane.routes.tracks.items():
                    tracks[gutter] = max(tracks[gutter], count)
                labelled.update(bundle.gutter for bundle, _ in lane.routes.ends)
        gaps = [_gap_width(column.days) for column in columns[1:]]
        gutters = [
            2 * EDGE + gap + TRACK * tracks[gutter] + LABEL * (gutter in labelled)
            for gutter, gap in enumerate(gaps)
        ]
        self._lefts = list(accumulate((WIDTH + gutter for gutter in gutters), initial=EDGE))
        self._tracks = [self._lefts[g] + WIDTH + EDGE + gap for g, gap in enumerate(gaps)]
        self.width = self._lefts[-1] + WIDTH + EDGE
        self.gaps = [
            (format_gap(column.days), track - gap, gap)
            for column, track, gap in zip(columns[1:], self._tracks, gaps, strict=True)
            if gap
        ]

    def _place_lane(self, lane: Lane, top: int) -> None:
        for memory in lane.rows:
            distance, height = lane.card(memory)
            self.cards[memory] = self._lefts[self._column_of[memory]], top + distance, height
        if lane.routes is None:
            return
        left = self._lefts[lane.first] - EDGE + 3
        width = self._lefts[lane.last] + WIDTH + EDGE - 3 - left
        self.lanes.append((left, top, width, lane.height - EDGE, len(lane.rows)))
        for link, points in lane.routes.points.items():
            self.lines[link] = [(self._x(point), top + TITLE + point[2]) for point in points]
        for bundle, y in lane.routes.ends:
            x = self._lefts[bundle.gutter + 1]
            self.labels.append((bundle.newer, bundle.relation, x, top + TITLE + y))

    def _x(self, point: Point) -> int:
        gutter, track, _ = point
        if track == START:
            return self._lefts[gutter] + WIDTH
        return self._lefts[gutter + 1] if track == END else self._tracks[gutter] + track * TRACK


def _gap_width(days: int) -> int:
    """Return the width of a gap in time, on a logarithmic scale."""
    return round(20 + 12 * log2(days)) if format_gap(days) else 0


def _stack(lanes: Sequence[Lane], top: int) -> tuple[list[int], int]:
    """Return the lanes' tops, each as high as possible without overlap, and the lowest bottom."""
    occupied: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
    tops: list[int] = []
    for lane in lanes:
        columns = range(lane.first, lane.last + 1)
        y = top
        for start, end in sorted({span for column in columns for span in occupied[column]}):
            if start < y + lane.height and y < end:
                y = end
        for column in columns:
            occupied[column].add((y, y + lane.height))
        tops.append(y)
    bottoms = [y + lane.height for y, lane in zip(tops, lanes, strict=True)]
    return tops, max(bottoms, default=top)
