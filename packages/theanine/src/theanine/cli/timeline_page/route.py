"""How the links of one component run: beside memories, never behind them, each on its own track.

Between two columns is a gutter, for what goes up and down; above each row is a channel, for what
goes across where a memory stands in the way. Links of one relation into one memory are a bundle:
they share their tracks, their end and their label.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from theanine.types import Link

HEIGHT = 84
"""Of a memory; all measures are pixels."""
TRACK = 9
"""From one track to the next."""
PORT = 22
"""From one end of a bundle to the next: a label's height."""
SPACE = 20
"""Between two rows, where no link runs."""
START, END = -1, -2
"""Instead of a track: where a gutter begins, at the memory before it, and where it ends."""

Point = tuple[int, int, int]
"""A gutter, a track in it (or ``START`` or ``END``), and how far below the component's top."""
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Bundle:
    """Links of one relation into one memory.

    Attributes:
        newer, relation, older: the memory, the relation, the memories before it.
        gutter: the one before the memory.
        port: its place among those that end there, 0 in the middle.
        reach: the column of the memory before it in its row; -1 for none.
    """

    newer: int
    relation: str
    older: tuple[int, ...]
    gutter: int
    port: int
    reach: int


@dataclass(frozen=True, slots=True)
class Routes:
    """A component: its height, each row's top and height, and how its links run.

    Attributes:
        height: of all.
        tops, heights: of each row.
        wires: by link, its corners.
        ends: each bundle with how far below the top it ends.
        tracks: how many of them each gutter needs.
    """

    height: int
    tops: Sequence[int]
    heights: Sequence[int]
    wires: Mapping[tuple[int, int], Sequence[Point]]
    ends: Sequence[tuple[Bundle, int]]
    tracks: Mapping[int, int]


def relation(link: Link) -> str:
    """What a link's label says."""
    return str(link.relation or "Similar")


def routed(rows: Mapping[int, int], column: Mapping[int, int], links: Sequence[Link]) -> Routes:
    """The links of one component whose memories stand in these rows and columns."""
    bundles = _bundles(rows, column, links)
    across = _across(bundles, rows, column)
    heights = [HEIGHT] * (max(rows.values()) + 1)
    counts = [0] * len(heights)
    for one in bundles:
        row = rows[one.newer]
        heights[row] = max(heights[row], 2 * abs(_offset(one.port)) + 2 * PORT)
    for (_, channel), track in across.items():
        counts[channel] = max(counts[channel], track + 1)
    tops: list[int] = []
    below = 0
    for height, count in zip(heights, counts, strict=True):
        tops.append(below + SPACE + count * TRACK)
        below = tops[-1] + height
    middles = {m: tops[row] + heights[row] // 2 for m, row in rows.items()}
    ends = [(one, middles[one.newer] + _offset(one.port)) for one in bundles]
    drawn: dict[tuple[int, int], list[Point]] = {}
    for number, (one, end) in enumerate(ends):
        for older in one.older:
            channel = _channel(one, older, rows, column)
            over = 0 if channel is None else tops[channel] - 10 - TRACK * across[number, channel]
            start = (column[older], middles[older], rows[older] == rows[one.newer])
            drawn[older, one.newer] = _wire(number, one, start, end, over)
    wires, tracks = _on_tracks(drawn)
    return Routes(below + SPACE, tops, heights, wires, ends, tracks)


def _bundles(
    rows: Mapping[int, int], column: Mapping[int, int], links: Sequence[Link]
) -> list[Bundle]:
    """Bundles by memory; the one that comes straight along the row ends in the middle."""
    standing: defaultdict[int, list[int]] = defaultdict(list)
    for memory, row in rows.items():
        standing[row].append(column[memory])
    gathered: defaultdict[int, dict[str, list[int]]] = defaultdict(dict)
    for link in links:
        gathered[link.newer].setdefault(relation(link), []).append(link.older)
    found: list[Bundle] = []
    for newer, kinds in gathered.items():
        here = column[newer]
        reach = max((one for one in standing[rows[newer]] if one < here), default=-1)
        straight = {m for m in rows if rows[m] == rows[newer] and column[m] == reach}
        ordered = sorted(kinds.items(), key=lambda kind: straight.isdisjoint(kind[1]))
        found += [
            Bundle(newer, name, tuple(older), here - 1, port, reach)
            for port, (name, older) in enumerate(ordered)
        ]
    return found


def _channel(
    one: Bundle, older: int, rows: Mapping[int, int], column: Mapping[int, int]
) -> int | None:
    """The channel that a link takes to get round what stands before its end; None for none."""
    if column[older] >= one.reach:
        return None
    return rows[one.newer] + (rows[older] > rows[one.newer])


def _across(
    bundles: Sequence[Bundle], rows: Mapping[int, int], column: Mapping[int, int]
) -> dict[tuple[int, int], int]:
    """The track of each bundle in each channel that it takes."""
    spans: defaultdict[int, dict[tuple[int, int], tuple[int, int]]] = defaultdict(dict)
    for number, one in enumerate(bundles):
        for older in one.older:
            channel = _channel(one, older, rows, column)
            if channel is not None:
                start, _ = spans[channel].get((number, channel), (one.reach, one.reach))
                spans[channel][number, channel] = min(start, column[older]), one.reach
    return {key: track for each in spans.values() for key, track in _apart(each).items()}


def _apart(spans: Mapping[Key, tuple[int, int]]) -> dict[Key, int]:
    """A track for each span; those on one track don't touch."""
    ends: list[int] = []
    tracks: dict[Key, int] = {}
    for key, (start, end) in sorted(spans.items(), key=lambda item: item[1]):
        free = next((track for track, last in enumerate(ends) if last < start), len(ends))
        ends[free : free + 1] = [end]
        tracks[key] = free
    return tracks


def _offset(port: int) -> int:
    """From the middle: 0, then up and down in turn."""
    return (port + 1) // 2 * PORT * (-1 if port % 2 else 1)


def _wire(
    number: int, one: Bundle, start: tuple[int, int, bool], end: int, over: int
) -> list[Point]:
    """Corners of a link; for the time being a track is the bundle's ``number``."""
    column, middle, beside = start
    arrives = (one.gutter, END, end)
    if beside and column == one.reach:
        return [(column, START, end), arrives]
    leaves = middle + PORT // 2  # where no bundle ends, so that nothing runs along it
    first = [(column, START, leaves), (column, number, leaves)]
    if column >= one.reach:
        return [*first, (column, number, end), arrives]
    return [
        *first, (column, number, over), (one.reach, number, over), (one.reach, number, end), arrives
    ]  # fmt: skip


def _on_tracks(
    drawn: Mapping[tuple[int, int], Sequence[Point]],
) -> tuple[dict[tuple[int, int], list[Point]], dict[int, int]]:
    """The same corners on tracks that no two bundles share at one height; their count by gutter."""
    spans: defaultdict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
    for points in drawn.values():
        for gutter, number, y in points:
            if number >= 0:
                low, high = spans[gutter].get(number, (y, y))
                spans[gutter][number] = min(low, y), max(high, y)
    found = {gutter: _apart(each) for gutter, each in spans.items()}
    wires = {
        link: [(g, found[g][number] if number >= 0 else number, y) for g, number, y in points]
        for link, points in drawn.items()
    }
    return wires, {gutter: max(each.values()) + 1 for gutter, each in found.items()}
