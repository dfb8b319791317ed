"""The memory graph: adjacency and connected components, extended incrementally."""

from __future__ import annotations

from collections.abc import Iterable

from theanine.types import Link


class Graph:
    """A directed acyclic graph over memory ids; edges run from older to newer memories.

    Weakly connected components are kept in a union-find that also lists each set's members. It is
    brought up to date when it is asked: most recalls look at neighbors only.

    Attributes:
        links: the link of each (older, newer) pair.
        newer, older: the neighbors of a memory, in the order in which links were added.
    """

    def __init__(self, links: Iterable[Link] = ()) -> None:
        self.links: dict[tuple[int, int], Link] = {}
        self.newer: dict[int, list[int]] = {}
        self.older: dict[int, list[int]] = {}
        self._parent: dict[int, int] = {}
        self._members: dict[int, list[int]] = {}
        self._waiting: list[tuple[int, int]] = []  # pairs that are not in the union-find yet
        for link in links:
            self.add(link)

    def add(self, link: Link) -> None:
        """Add an edge, unless the pair is linked already."""
        pair = (link.older, link.newer)
        if pair in self.links:
            return
        self.links[pair] = link
        self.newer.setdefault(link.older, []).append(link.newer)
        self.older.setdefault(link.newer, []).append(link.older)
        self._waiting.append(pair)

    def component(self, memory: int) -> int:
        """Return the id of the memory that represents this one's weakly connected component."""
        for pair in self._waiting:
            self._unite(*pair)
        self._waiting.clear()
        return self._root(memory)

    def _root(self, memory: int) -> int:
        root = memory
        while (parent := self._parent.get(root, root)) != root:
            root = parent
        while (parent := self._parent.get(memory, memory)) != root:
            self._parent[memory], memory = root, parent
        return root

    def members(self, memory: int) -> list[int]:
        """Return all memories of the component, in any order; an unlinked memory alone."""
        return self._members.get(self.component(memory), [memory])

    def _unite(self, a: int, b: int) -> None:
        large, small = self._root(a), self._root(b)
        if large == small:
            return
        if len(self._members.get(large, ())) < len(self._members.get(small, ())):
            large, small = small, large
        members = self._members.setdefault(large, [large])
        members.extend(self._members.pop(small, [small]))
        self._parent[small] = large
