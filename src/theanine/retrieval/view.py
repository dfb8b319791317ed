"""A scope's memories as retrieval needs them, held in memory and extended as the store grows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from theanine.conversation import Scope, Session, Turn
from theanine.graph import Graph
from theanine.memory import Memory
from theanine.models.base import Vectors
from theanine.retrieval.fusion import best, standard
from theanine.retrieval.lexical import Lexical
from theanine.store.base import State, Store

CACHED_MEMORIES = 250_000
"""Memories that all cached scopes may hold together before the least used scope is let go."""


class View:
    """One scope, one method: memories, vectors, postings and links as of ``state``.

    Attributes:
        memories: in order of number.
        graph: the links.
        sessions: by number.
    """

    def __init__(self, store: Store, scope: Scope, method: str, state: State) -> None:
        self.scope, self.method, self.state = scope, method, state
        self.memories: list[Memory] = []
        self.graph = Graph()
        self.sessions: dict[int, Session] = {}
        self._store = store
        self._place: dict[int, int] = {}
        self._lexical = Lexical()
        self._ids = np.empty(0, np.int64)
        self._vectors: Vectors = np.empty((0, 0), np.float32)
        self._turns: dict[int, Turn] = {}

    def __getitem__(self, memory: int) -> Memory:
        return self.memories[self._place[memory]]

    def order(self, memory: int) -> tuple[datetime, int]:
        """Sorts memory numbers as they happened."""
        return self[memory].order

    def __contains__(self, memory: int) -> bool:
        return memory in self._place

    def __len__(self) -> int:
        return len(self.memories)

    @property
    def undated(self) -> frozenset[int]:
        """Numbers of the sessions whose times only keep their order."""
        return frozenset(s.id for s in self.sessions.values() if not s.dated)

    async def extend(self, state: State) -> None:
        """Take in what was committed since. Only for a state of the same epoch and embedder."""
        after = self.memories[-1].id if self.memories else 0
        fresh = await self._store.memories(self.scope, method=self.method, after=after)
        ids, vectors = await self._store.vectors(self.scope, method=self.method, after=after)
        links = await self._store.links(self.scope, method=self.method, after=after)
        sessions = await self._store.sessions(self.scope, self.method)
        rows = {memory: i for i, memory in enumerate(ids)}
        fresh = [memory for memory in fresh if memory.id in rows]
        for memory in fresh:
            self._place[memory.id] = len(self.memories)
            self.memories.append(memory)
            self._lexical.add(memory.text)
        if fresh:
            added = np.asarray(vectors, np.float32)[[rows[memory.id] for memory in fresh]]
            self._vectors = np.vstack([self._vectors, added]) if len(self._vectors) else added
            self._ids = np.array([memory.id for memory in self.memories], np.int64)
        for link in links:
            if link.older in self._place and link.newer in self._place:
                self.graph.add(link)
        self.sessions = {session.id: session for session in sessions}
        self.state = state

    def nearest(
        self, vector: NDArray[np.float32], k: int, *, among: NDArray[np.bool_] | None = None
    ) -> list[tuple[Memory, float]]:
        """The ``k`` memories of highest cosine, best first; ``among`` masks ``memories``."""
        if not len(self.memories):
            return []
        similarity = (self._vectors @ vector).astype(np.float32)
        scores = similarity if among is None else np.where(among, similarity, np.float32(-np.inf))
        picked = best(scores, self._ids, k)
        return [
            (self.memories[int(i)], float(similarity[i])) for i in picked if np.isfinite(scores[i])
        ]

    def search(
        self, query: str, vector: NDArray[np.float32], k: int, *, lexical: bool = True
    ) -> list[tuple[Memory, float]]:
        """The ``k`` memories that fit the query best, by cosine and (``lexical``) BM25 together."""
        if not len(self.memories):
            return []
        if not lexical:
            return self.nearest(vector, k)
        scores = standard((self._vectors @ vector).astype(np.float32))
        scores = scores + standard(self._lexical.scores(query))
        return [(self.memories[int(i)], float(scores[i])) for i in best(scores, self._ids, k)]

    async def turns(self, ids: Sequence[int]) -> list[Turn]:
        """Turns by number, in order of number; the log never changes, so they are kept."""
        missing = [turn for turn in ids if turn not in self._turns]
        if missing:
            found = await self._store.turns(self.scope, ids=missing)
            self._turns.update({turn.id: turn for turn in found})
        return [self._turns[turn] for turn in sorted(set(ids)) if turn in self._turns]

    async def dialogue(self, session: int) -> list[Turn]:
        """All turns of a session, in order."""
        return await self._store.turns(self.scope, session=session)

    async def around(self, ids: Sequence[int]) -> list[Turn]:
        """Turns with the turn before and after each in its session, once each, in order."""
        centre = await self.turns(ids)
        close = await self.turns(sorted({n + d for n in ids for d in (-1, 0, 1) if n + d > 0}))
        wanted = {(turn.session, turn.id + d) for turn in centre for d in (-1, 0, 1)}
        return [turn for turn in close if (turn.session, turn.id) in wanted]


class Views:
    """Views of many scopes, the least used let go first."""

    def __init__(self, store: Store, method: str) -> None:
        self._store, self._method = store, method
        self._views: OrderedDict[Scope, View] = OrderedDict()

    async def of(self, scope: Scope) -> View:
        """The scope's view as of now: one cheap read when nothing has changed."""
        state = await self._store.state(scope)
        view = self._views.get(scope)
        if view is None or _identity(view.state) != _identity(state):
            view = View(self._store, scope, self._method, state)
            await view.extend(state)
        elif view.state.memories != state.memories:
            grown = view
            await grown.extend(state)
        self._views[scope] = view
        self._views.move_to_end(scope)
        self._trim()
        return view

    def _trim(self) -> None:
        total = sum(len(view) for view in self._views.values())
        while total > CACHED_MEMORIES and len(self._views) > 1:
            _, gone = self._views.popitem(last=False)
            total -= len(gone)


def _identity(state: State) -> tuple[int, int, str]:
    return (state.scope_id, state.epoch, state.embedder)
