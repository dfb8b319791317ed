"""The drawing of a memory graph, in pixels: columns of time, and a lane for each component."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import log2

from theanine.cli.timeline_page.place import Column, columns, later, rows
from theanine.cli.timeline_page.route import END, HEIGHT, START, TRACK, Point, Routes, routed
from theanine.graph import Graph
from theanine.types import Link, Memory

WIDTH = 224
"""Of a memory."""
EDGE = 14
"""Between a memory and what is beside it, and between lanes."""
LABEL = 96
"""Room for a link's label and tip before the memory where it ends."""
TITLE = 16
"""Room above the first row of a lane, for its title."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A component between its first and its last column. Without routes it is one memory alone."""

    rows: dict[int, int]
    first: int
    last: int
    routes: Routes | None

    @property
    def height(self) -> int:
        """With what keeps it from the next one below."""
        return (HEIGHT if self.routes is None else TITLE + self.routes.height) + EDGE

    def card(self, memory: int) -> tuple[int, int]:
        """How far below the top a memory begins, and its height."""
        if self.routes is None:
            return 0, HEIGHT
        row = self.rows[memory]
        return TITLE + self.routes.tops[row], self.routes.heights[row]


class Drawing:
    """Where everything stands. Links must be between these memories.

    Attributes:
        width, height: of all.
        columns: heading and middle of each.
        gaps: words for the time that passes, where the gap begins, its width.
        lanes: left, top, width, height, how many memories.
        cards: by memory, left, top, height.
        wires: by link, its corners.
        labels: memory, relation, tip and height of each end of links.
        loose: where the memories begin that are linked with none; None if there are no others.
    """

    def __init__(
        self, memories: Sequence[Memory], links: Sequence[Link], undated: frozenset[int]
    ) -> None:
        graph = Graph(links)
        self._column, days = columns(memories, graph, undated)
        linked, alone = _lanes(memories, links, graph, self._column)
        self._gutters(days, linked)
        tops, below = _packed(linked, EDGE)
        self.loose = below if linked and alone else None
        begins = below if self.loose is None else below + TITLE + EDGE
        more, self.height = _packed(alone, begins)
        self.columns = [
            (one.heading, left + WIDTH // 2) for one, left in zip(days, self._lefts, strict=False)
        ]
        self.lanes: list[tuple[int, ...]] = []
        self.cards: dict[int, tuple[int, int, int]] = {}
        self.wires: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self.labels: list[tuple[int, str, int, int]] = []
        for lane, top in zip([*linked, *alone], [*tops, *more], strict=True):
            self._draw(lane, top)

    def _gutters(self, days: Sequence[Column], lanes: Sequence[Lane]) -> None:
        """How wide the space after each column is, and so where each column begins."""
        tracks: defaultdict[int, int] = defaultdict(int)
        labelled: set[int] = set()
        for lane in lanes:
            if lane.routes:
                for gutter, count in lane.routes.tracks.items():
                    tracks[gutter] = max(tracks[gutter], count)
                labelled.update(bundle.gutter for bundle, _ in lane.routes.ends)
        passed = [_passing(one.days) for one in days[1:]]
        widths = [
            2 * EDGE + band + TRACK * tracks[gutter] + LABEL * (gutter in labelled)
            for gutter, band in enumerate(passed)
        ]
        self._lefts = list(accumulate((WIDTH + one for one in widths), initial=EDGE))
        self._tracks = [self._lefts[g] + WIDTH + EDGE + band for g, band in enumerate(passed)]
        self.width = self._lefts[-1] + WIDTH + EDGE
        self.gaps = [
            (later(one.days), track - band, band)
            for one, track, band in zip(days[1:], self._tracks, passed, strict=True)
            if band
        ]

    def _draw(self, lane: Lane, top: int) -> None:
        for memory in lane.rows:
            below, height = lane.card(memory)
            self.cards[memory] = self._lefts[self._column[memory]], top + below, height
        if lane.routes is None:
            return
        left = self._lefts[lane.first] - EDGE + 3
        width = self._lefts[lane.last] + WIDTH + EDGE - 3 - left
        self.lanes.append((left, top, width, lane.height - EDGE, len(lane.rows)))
        for link, points in lane.routes.wires.items():
            self.wires[link] = [(self._x(point), top + TITLE + point[2]) for point in points]
        for bundle, y in lane.routes.ends:
            tip = self._lefts[bundle.gutter + 1]
            self.labels.append((bundle.newer, bundle.relation, tip, top + TITLE + y))

    def _x(self, point: Point) -> int:
        gutter, track, _ = point
        if track == START:
            return self._lefts[gutter] + WIDTH
        return self._lefts[gutter + 1] if track == END else self._tracks[gutter] + track * TRACK


def _passing(days: int) -> int:
    """Width of the mark for so many days: a year is longer than a month, not twelve times so."""
    return round(20 + 12 * log2(days)) if later(days) else 0


def _lanes(
    memories: Sequence[Memory], links: Sequence[Link], graph: Graph, column: dict[int, int]
) -> tuple[list[Lane], list[Lane]]:
    """Components, in time, and memories alone, in time."""
    members: defaultdict[int, list[Memory]] = defaultdict(list)
    between: defaultdict[int, list[Link]] = defaultdict(list)
    for memory in sorted(memories, key=lambda m: (column[m.id], m.order)):
        members[graph.component(memory.id)].append(memory)
    for link in links:
        between[graph.component(link.newer)].append(link)
    linked: list[Lane] = []
    alone: list[Lane] = []
    for component, each in members.items():
        standing = rows(each, graph, column)
        routes = routed(standing, column, between[component]) if between[component] else None
        lane = Lane(standing, column[each[0].id], column[each[-1].id], routes)
        (linked if routes else alone).append(lane)
    return sorted(linked, key=lambda lane: (lane.first, -len(lane.rows))), alone


def _packed(lanes: Sequence[Lane], top: int) -> tuple[list[int], int]:
    """Tops of lanes that cover no other, each as high up as is free, and what is below them all."""
    taken: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
    tops: list[int] = []
    for lane in lanes:
        over = range(lane.first, lane.last + 1)
        at = top
        for start, end in sorted({span for column in over for span in taken[column]}):
            if start < at + lane.height and at < end:
                at = end
        for column in over:
            taken[column].add((at, at + lane.height))
        tops.append(at)
    below = [at + lane.height for at, lane in zip(tops, lanes, strict=True)]
    return tops, max(below, default=top)
