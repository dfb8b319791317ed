"""The memory graph: adjacency and connected components, extended incrementally."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from theanine.types import Link, Relation

Pair = tuple[int, int]


class _Links(Mapping[Pair, Link]):
    """Links by pair. Each is made when it is first looked up.

    Until then it is a row of plain values, which the garbage collector doesn't visit: a process
    that serves many users has hundreds of thousands, of which recalls need few.
    """

    def __init__(self) -> None:
        self._rows: dict[Pair, tuple[str | None, str, float, str, str]] = {}
        self._made: dict[Pair, Link] = {}

    def add(self, link: Link) -> None:
        """Add a link."""
        relation = None if link.relation is None else link.relation.value
        row = (relation, link.explanation, link.similarity, link.made_by, link.prompt)
        self._rows[link.older, link.newer] = row

    def __getitem__(self, pair: Pair) -> Link:
        if (link := self._made.get(pair)) is not None:
            return link
        relation, explanation, similarity, made_by, prompt = self._rows[pair]
        link = self._made[pair] = Link(
            older=pair[0],
            newer=pair[1],
            relation=None if relation is None else Relation(relation),
            explanation=explanation,
            similarity=similarity,
            made_by=made_by,
            prompt=prompt,
        )
        return link

    def __contains__(self, pair: object) -> bool:
        return pair in self._rows

    def __iter__(self) -> Iterator[Pair]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class Graph:
    """A directed acyclic graph over memory ids; edges run from older to newer memories.

    Weakly connected components are kept in a union-find that also lists each set's members. It is
    brought up to date when it is asked: most recalls look at neighbors only.

    Attributes:
        newer, older: the neighbors of a memory, in the order in which links were added.
    """

    def __init__(self, links: Iterable[Link] = ()) -> None:
        self._links = _Links()
        self.newer: dict[int, tuple[int, ...]] = {}
        self.older: dict[int, tuple[int, ...]] = {}
        self._parent: dict[int, int] = {}
        self._members: dict[int, list[int]] = {}
        self._united = 0  # links that are in the union-find
        for link in links:
            self.add(link)

    @property
    def links(self) -> Mapping[Pair, Link]:
        """The link of each (older, newer) pair."""
        return self._links

    def add(self, link: Link) -> None:
        """Add an edge, unless the pair is linked already."""
        pair = (link.older, link.newer)
        if pair in self._links:
            return
        self._links.add(link)
        self.newer[link.older] = (*self.newer.get(link.older, ()), link.newer)
        self.older[link.newer] = (*self.older.get(link.newer, ()), link.older)

    def among(self, memories: Iterable[int]) -> dict[Pair, Relation | None]:
        """Return the relations of some memories to each other, by older and newer memory."""
        chosen = set(memories)
        return {
            (older, newer): self._links[older, newer].relation
            for newer in sorted(chosen)
            for older in self.older.get(newer, ())
            if older in chosen
        }

    def component(self, memory: int) -> int:
        """Return the id of the memory that represents this one's weakly connected component."""
        for pair in islice(self._links, self._united, None):
            self._unite(*pair)
        self._united = len(self._links)
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
