"""Phase II, step 1: sample timelines uniformly over all paths, without building them.

The number of paths from each node to the component's ends is counted once, in topological order,
with whole numbers of any size; a path is then drawn by walking with those counts as weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from theanine.graph import Graph

Order = Callable[[int], Any]
"""Sorts memories from oldest to newest; every edge must run forward in it."""
Path = tuple[int, ...]


def sample_timelines(
    graph: Graph, memory: int, n: int, rng: Random, order: Order, given: set[Path]
) -> list[Path]:
    """Up to ``n`` different timelines through ``memory``, none of them in ``given``.

    A timeline is a directed path from the oldest memory of the component, through ``memory``, to a
    memory with no outgoing edge (Theanine, equation 10). Where ``memory`` can't be reached from
    there, paths start at its oldest ancestor that has no incoming edge. Each draw is uniform over
    all such paths that are left.
    """
    paths = Paths(graph, memory, order)
    drawn: list[Path] = []
    for number in _without_replacement(paths.count, rng):
        path = paths[number]
        if path not in given:
            drawn.append(path)
        if len(drawn) == n:
            break
    return drawn


class Paths:
    """All timelines through one memory, numbered from 0, each built when it is asked for."""

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
    def _counts(nodes: list[int], start: int, older: dict[int, list[int]]) -> dict[int, int]:
        """For each ancestor, the number of paths to it from ``start``."""
        counts: dict[int, int] = {}
        for node in nodes:
            counts[node] = int(node == start) or sum(counts[a] for a in older.get(node, ()))
        return counts

    def __getitem__(self, number: int) -> Path:
        behind, ahead = divmod(number, self._after[self._memory])
        back = list(_walk(self._memory, behind, self._older, self._before, self.start))
        forth = list(_walk(self._memory, ahead, self._newer, self._after, None))
        return (*reversed(back), self._memory, *forth)


def _walk(
    node: int, number: int, edges: dict[int, list[int]], counts: dict[int, int], stop: int | None
) -> Iterator[int]:
    """Follow the edges, each chosen by how many paths lie behind it, to path ``number``."""
    while node != stop and (following := edges.get(node)):
        for to in following:
            if number < counts[to]:
                node = to
                break
            number -= counts[to]
        yield node


def _reachable(node: int, edges: dict[int, list[int]]) -> set[int]:
    found, waiting = {node}, [node]
    while waiting:
        for to in edges.get(waiting.pop(), ()):
            if to not in found:
                found.add(to)
                waiting.append(to)
    return found


def _without_replacement(count: int, rng: Random) -> Iterator[int]:
    """0 … count-1 in random order; the swaps of a shuffle are kept sparse, so count may be huge."""
    swapped: dict[int, int] = {}
    for left in range_down(count):
        place = rng.randrange(left)
        yield swapped.get(place, place)
        swapped[place] = swapped.get(left - 1, left - 1)


def range_down(count: int) -> Iterator[int]:
    """count, count-1, …, 1, for counts that ``range`` can't hold."""
    while count > 0:
        yield count
        count -= 1


def longest_paths(graph: Graph, order: Order, memories: list[int]) -> list[Path]:
    """For each memory that nothing follows, the longest path that ends there, longest first.

    Memories without any link are left out. For a person to look at; recall samples instead.
    """
    best: dict[int, tuple[int, int | None]] = {}
    for node in sorted(memories, key=order):
        older = [(best[a][0], a) for a in graph.older.get(node, ()) if a in best]
        length, before = max(older, default=(0, None), key=lambda pair: pair[0])
        best[node] = (length + 1, before)
    ends = [n for n in best if not graph.newer.get(n) and best[n][0] > 1]
    paths: list[Path] = []
    for end in sorted(ends, key=lambda n: (-best[n][0], n)):
        path, node = list[int](), end
        while node is not None:
            path.append(node)
            node = best[node][1]
        paths.append(tuple(reversed(path)))
    return paths
