"""Routes of the links of one component: around memories, each on its own track.

Between two columns is a gutter for vertical segments; above each row is a channel for horizontal
ones that must bypass a memory. Links of one relation into one memory form a bundle: they share
their tracks, their end and their label.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from theanine.types import Link

# Pixels.
HEIGHT = 84
"""Minimum height of a memory."""
TRACK = 9
"""Distance between tracks."""
PORT = 22
"""Distance between the ends of two bundles: a label's height."""
ROW_GAP = 20
"""Distance between two rows without a track between them."""

START, END = -1, -2
"""In place of a track: the left edge of a gutter, at a memory, and its right edge."""

Point = tuple[int, int, int]
"""A gutter, a track in it (or ``START`` or ``END``), and the distance from the component's top."""
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Bundle:
    """Links of one relation into one memory.

    Attributes:
        newer: the memory where the links end.
        relation: the text of their label.
        older: the memories where they start.
        gutter: the gutter before ``newer``.
        port: index of its end among the bundles into ``newer``; 0 is in the middle.
        neighbor: column of the previous memory in the row of ``newer``; -1 for none.
    """

    newer: int
    relation: str
    older: tuple[int, ...]
    gutter: int
    port: int
    neighbor: int

    @property
    def offset(self) -> int:
        """Distance of its end from the memory's middle: 0, then alternately above and below."""
        return (self.port + 1) // 2 * PORT * (-1 if self.port % 2 else 1)


@dataclass(frozen=True, slots=True)
class Routes:
    """The rows of a component and the routes of its links.

    Attributes:
        height: total height.
        tops, heights: position and height of each row.
        points: the corners of each link, by (older, newer).
        ends: each bundle with the vertical position of its end.
        tracks: number of tracks in each gutter.
    """

    height: int
    tops: Sequence[int]
    heights: Sequence[int]
    points: Mapping[tuple[int, int], Sequence[Point]]
    ends: Sequence[tuple[Bundle, int]]
    tracks: Mapping[int, int]


def label(link: Link) -> str:
    """Return the text of a link's label."""
    return str(link.relation or "Similar")


def route_links(
    rows: Mapping[int, int], columns: Mapping[int, int], links: Sequence[Link]
) -> Routes:
    """Route the links of one component, given the row and the column of each of its memories."""
    bundles = _make_bundles(rows, columns, links)
    channel_tracks = _assign_channel_tracks(bundles, rows, columns)
    heights = [HEIGHT] * (max(rows.values()) + 1)
    counts = [0] * len(heights)
    for bundle in bundles:
        row = rows[bundle.newer]
        heights[row] = max(heights[row], 2 * abs(bundle.offset) + 2 * PORT)
    for (_, channel), track in channel_tracks.items():
        counts[channel] = max(counts[channel], track + 1)
    tops: list[int] = []
    bottom = 0
    for height, count in zip(heights, counts, strict=True):
        tops.append(bottom + ROW_GAP + count * TRACK)
        bottom = tops[-1] + height
    middles = {memory: tops[row] + heights[row] // 2 for memory, row in rows.items()}
    ends = [(bundle, middles[bundle.newer] + bundle.offset) for bundle in bundles]
    points: dict[tuple[int, int], list[Point]] = {}
    for number, (bundle, end) in enumerate(ends):
        for older in bundle.older:
            column = columns[older]
            same_row = rows[older] == rows[bundle.newer]
            departure = middles[older] + PORT // 2  # at a height where no bundle ends
            corners = [(column, START, departure), (column, number, departure)]
            channel = _channel(bundle, older, rows, columns)
            if channel is not None:
                height = tops[channel] - 10 - TRACK * channel_tracks[number, channel]
                corners += [(column, number, height), (bundle.neighbor, number, height)]
                corners += [(bundle.neighbor, number, end)]
            elif same_row and column == bundle.neighbor:
                corners = [(column, START, end)]
            else:
                corners += [(column, number, end)]
            points[older, bundle.newer] = [*corners, (bundle.gutter, END, end)]
    points, tracks = _assign_gutter_tracks(points)
    return Routes(bottom + ROW_GAP, tops, heights, points, ends, tracks)


def _make_bundles(
    rows: Mapping[int, int], columns: Mapping[int, int], links: Sequence[Link]
) -> list[Bundle]:
    """Return the bundles by memory; the one that arrives along the row ends in the middle."""
    older_by_label: defaultdict[int, dict[str, list[int]]] = defaultdict(dict)
    for link in links:
        older_by_label[link.newer].setdefault(label(link), []).append(link.older)
    bundles: list[Bundle] = []
    for newer, labels in older_by_label.items():
        column = columns[newer]
        same_row = {columns[m]: m for m in rows if rows[m] == rows[newer] and columns[m] < column}
        neighbor = max(same_row, default=-1)
        previous = same_row.get(neighbor)
        ordered = sorted(labels.items(), key=lambda item, id=previous: id not in item[1])
        bundles += [
            Bundle(newer, relation, tuple(older), column - 1, port, neighbor)
            for port, (relation, older) in enumerate(ordered)
        ]
    return bundles


def _channel(
    bundle: Bundle, older: int, rows: Mapping[int, int], columns: Mapping[int, int]
) -> int | None:
    """Return the channel by which a link bypasses the row's previous memory; None for none."""
    if columns[older] >= bundle.neighbor:
        return None
    return rows[bundle.newer] + (rows[older] > rows[bundle.newer])


def _assign_channel_tracks(
    bundles: Sequence[Bundle], rows: Mapping[int, int], columns: Mapping[int, int]
) -> dict[tuple[int, int], int]:
    """Return a track for each (bundle, channel) in use."""
    spans: defaultdict[int, dict[tuple[int, int], tuple[int, int]]] = defaultdict(dict)
    for number, bundle in enumerate(bundles):
        for older in bundle.older:
            channel = _channel(bundle, older, rows, columns)
            if channel is not None:
                key = (number, channel)
                start, _ = spans[channel].get(key, (bundle.neighbor, 0))
                spans[channel][key] = min(start, columns[older]), bundle.neighbor
    return {key: track for each in spans.values() for key, track in _separate(each).items()}


def _separate(spans: Mapping[Key, tuple[int, int]]) -> dict[Key, int]:
    """Return a track for each span, so that spans on one track don't touch."""
    ends: list[int] = []
    tracks: dict[Key, int] = {}
    for key, (start, end) in sorted(spans.items(), key=lambda item: item[1]):
        free = next((track for track, last in enumerate(ends) if last < start), len(ends))
        ends[free : free + 1] = [end]
        tracks[key] = free
    return tracks


def _assign_gutter_tracks(
    points: Mapping[tuple[int, int], Sequence[Point]],
) -> tuple[dict[tuple[int, int], list[Point]], dict[int, int]]:
    """Replace bundle numbers by tracks that don't overlap; return the number of tracks as well."""
    spans: defaultdict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
    for corners in points.values():
        for gutter, number, y in corners:
            if number >= 0:
                low, high = spans[gutter].get(number, (y, y))
                spans[gutter][number] = min(low, y), max(high, y)
    tracks = {gutter: _separate(each) for gutter, each in spans.items()}
    placed = {
        link: [(g, tracks[g][number] if number >= 0 else number, y) for g, number, y in corners]
        for link, corners in points.items()
    }
    return placed, {gutter: max(each.values()) + 1 for gutter, each in tracks.items()}
