"""The memory graph: adjacency and components, grown as memories and links arrive."""

from __future__ import annotations

from collections.abc import Iterable

from theanine.types import Link


class Graph:
    """A directed acyclic graph over memory ids; edges run from older to newer.

    Weakly connected components are kept in a union-find whose sets also list their members, so
    that both "which component" and "its members" cost next to nothing while the graph only grows.
    """

    def __init__(self, links: Iterable[Link] = ()) -> None:
        self.links: dict[tuple[int, int], Link] = {}
        self.newer: dict[int, list[int]] = {}
        self.older: dict[int, list[int]] = {}
        self._parent: dict[int, int] = {}
        self._members: dict[int, list[int]] = {}
        for link in links:
            self.add(link)

    def add(self, link: Link) -> None:
        """Add an edge; the same pair again changes nothing."""
        pair = (link.older, link.newer)
        if pair in self.links:
            return
        self.links[pair] = link
        self.newer.setdefault(link.older, []).append(link.newer)
        self.older.setdefault(link.newer, []).append(link.older)
        self._unite(link.older, link.newer)

    def component(self, memory: int) -> int:
        """A number that all memories of one weakly connected component share."""
        root = memory
        while (parent := self._parent.get(root, root)) != root:
            root = parent
        while (parent := self._parent.get(memory, memory)) != root:
            self._parent[memory], memory = root, parent
        return root

    def members(self, memory: int) -> list[int]:
        """All memories of its component, in no particular order; itself alone if it has no link."""
        return self._members.get(self.component(memory), [memory])

    def _unite(self, a: int, b: int) -> None:
        one, other = self.component(a), self.component(b)
        if one == other:
            return
        mine, theirs = self._members.get(one, [one]), self._members.pop(other, [other])
        if len(mine) < len(theirs):
            one, other, mine, theirs = other, one, theirs, mine
            self._members.pop(other, None)
        mine.extend(theirs)
        self._members[one] = mine
        self._parent[other] = one
