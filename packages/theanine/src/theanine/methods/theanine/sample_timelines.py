"""Phase II, step 1: sample timelines uniformly over all paths, without listing them.

The paths from each node to the ends of its component are counted in topological order, with
integers of any size. A path is then found by its number by walking along these counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from theanine.graph import Graph

Order = Callable[[int], Any]
"""Sort key of memory ids, oldest first; every edge must run forward."""
Path = tuple[int, ...]


def sample_timelines(
    graph: Graph, memory: int, n: int, rng: Random, order: Order, exclude: set[Path]
) -> list[Path]:
    """Return up to ``n`` different timelines through ``memory``, none of them in ``exclude``.

    A timeline is a directed path from the oldest memory of the component, through ``memory``, to a
    memory with no outgoing edge (Theanine, equation 10). Where the oldest memory doesn't reach
    ``memory``, paths start at its oldest ancestor with no incoming edge. Each draw is uniform over
    the remaining paths.
    """
    paths = Paths(graph, memory, order)
    drawn: list[Path] = []
    for number in _without_replacement(paths.count, rng):
        path = paths[number]
        if path not in exclude:
            drawn.append(path)
        if len(drawn) == n:
            break
    return drawn


class Paths:
    """All timelines through one memory, indexed from 0 and built on access."""

    def __init__(self, graph: Graph, memory: int, order: Order) -> None:
        self._newer, self._older, self._memory = graph.newer, graph.older, memory
        past = _reachable(memory, graph.older)
        oldest = min(graph.members(memory), key=order)
        roots = (node for node in past if not graph.older.get(node))
        self.start = oldest if oldest in past else min(roots, key=order)
        self._before = self._counts(sorted(past, key=order), self.start, graph.older)
        future = sorted(_reachable(memory, graph.newer), key=order, reverse=True)
        self._after: dict[int, int] = {}
        for node in future:
            following = graph.newer.get(node, ())
            self._after[node] = sum(self._after[to] for to in following) if following else 1
        self.count = self._before[memory] * self._after[memory]

    @staticmethod
    def _counts(nodes: list[int], start: int, older: Mapping[int, Sequence[int]]) -> dict[int, int]:
        """Return for each ancestor the number of paths to it from ``start``."""
        counts: dict[int, int] = {}
        for node in nodes:
            counts[node] = int(node == start) or sum(counts[a] for a in older.get(node, ()))
        return counts

    def __getitem__(self, number: int) -> Path:
        past, future = divmod(number, self._after[self._memory])
        older = list(_walk(self._memory, past, self._older, self._before, self.start))
        newer = list(_walk(self._memory, future, self._newer, self._after, None))
        return (*reversed(older), self._memory, *newer)


def _walk(
    node: int,
    number: int,
    edges: Mapping[int, Sequence[int]],
    counts: dict[int, int],
    stop: int | None,
) -> Iterator[int]:
    """Yield the nodes of path ``number``, choosing each edge by the counts of its paths."""
    while node != stop and (following := edges.get(node)):
        for to in following:
            if number < counts[to]:
                node = to
                break
            number -= counts[to]
        yield node


def _reachable(node: int, edges: Mapping[int, Sequence[int]]) -> set[int]:
    reached, pending = {node}, [node]
    while pending:
        for to in edges.get(pending.pop(), ()):
            if to not in reached:
                reached.add(to)
                pending.append(to)
    return reached


def _without_replacement(count: int, rng: Random) -> Iterator[int]:
    """Yield 0 to ``count - 1`` in random order.

    A Fisher-Yates shuffle that stores only its swaps, as ``count`` may exceed what ``range`` holds.
    """
    swapped: dict[int, int] = {}
    while count > 0:
        drawn = rng.randrange(count)
        yield swapped.get(drawn, drawn)
        count -= 1
        swapped[drawn] = swapped.get(count, count)
