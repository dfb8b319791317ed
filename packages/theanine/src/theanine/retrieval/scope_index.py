"""A scope's memories as retrieval needs them, held in memory and extended as the store grows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from sys import maxsize
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from theanine.clock import micros
from theanine.embeddings.base import Vectors
from theanine.errors import EmbedderMismatch
from theanine.graph import Graph
from theanine.retrieval.ann.builder import IndexBuilder
from theanine.retrieval.ann.search import ApproximateSearch
from theanine.retrieval.neighbors import Positions
from theanine.retrieval.query import Query
from theanine.retrieval.ranking import Ranking, RankingConfig, Unit
from theanine.retrieval.rows import GrowingArray
from theanine.retrieval.scoring import Scores, inner_products, top_k
from theanine.store.base import Store
from theanine.store.values import ScopeVersion
from theanine.types import Mark, Memory, Scope, Session, Turn

RetrievalMode = Literal["hybrid", "dense", "lexical"]
"""By all evidence of :mod:`theanine.retrieval.ranking`, by cosine alone, or by BM25 alone."""

DEFAULT_CAPACITY = 250_000
"""What all cached scopes may weigh together, in memories, before the least used is let go."""
BASE_SIZE = 10
"""What a view with nothing in it weighs, in memories: some 16 KB, where one takes 1.5 to 2."""

BATCH = 1_000
"""Memories that are read at once: enough to be fast, few enough to leave no hole in memory."""


class ScopeIndex:
    """One scope, one method: memories, vectors, postings and links as of ``state``.

    Attributes:
        memories: in order of number.
        graph: the links.
        sessions: by number.
        undated: numbers of the sessions whose times only keep their order.
        marks: the marks on memories that are no longer live, by memory; the last one counts.
        approximate: finds in a scope that has outgrown exact search.
        session_of, times: each memory's session number and time, in microseconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        scope: Scope,
        method: str,
        state: ScopeVersion,
        ranking: RankingConfig | None = None,
    ) -> None:
        self.scope, self.method, self.state = scope, method, state
        self.memories: list[Memory] = []
        self.graph = Graph()
        self.sessions: dict[int, Session] = {}
        self.undated: frozenset[int] = frozenset()
        self.marks: dict[int, Mark] = {}
        self._store = store
        self._read_upto = 0
        self._sessions_upto = 0
        self._place: dict[int, int] = {}
        self._ranking = Ranking(ranking)
        self.approximate = ApproximateSearch(self._ranking)
        self._ids: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._session_of: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._times: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._turns: dict[int, Turn] = {}
        self._marks_read = 0
        self._kinds: dict[str, int] = {}
        self._kind_of: GrowingArray[np.int16] = GrowingArray(np.int16)
        self._recalls: dict[int, list[datetime]] = {}
        self._recalls_upto = 0

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
    def session_of(self) -> NDArray[np.int64]:
        """The number of each memory's session, as ``memories`` are ordered."""
        return self._session_of.values

    @property
    def times(self) -> NDArray[np.int64]:
        """Each memory's time in microseconds since 1970, as ``memories`` are ordered."""
        return self._times.values

    def add_sessions(self, sessions: Iterable[Session]) -> None:
        """Take in sessions, new ones or in a new state."""
        self.sessions.update({session.id: session for session in sessions})
        self.undated = frozenset(s.id for s in self.sessions.values() if not s.dated)

    async def extend(self, state: ScopeVersion) -> None:
        """Take in what was committed since. Only for a state of the same epoch and embedder."""
        # Of those met one by one there may be earlier ones that are not known yet.
        last = self._sessions_upto
        fresh = await self._store.sessions(self.scope, self.method, after=last)
        self.add_sessions(fresh)
        self._sessions_upto = max([self._sessions_upto, *(session.id for session in fresh)])
        self._ranking.vectors.reserve(len(self.memories) + state.memories - self._read_upto)
        for after in range(self._read_upto, state.memories, BATCH):
            await self._take(after, min(after + BATCH, state.memories))
        self._read_upto = state.memories
        if state.marks > self._marks_read:
            fresh = await self._store.marks(self.scope, method=self.method, after=self._marks_read)
            self.marks.update({mark.memory: mark for mark in fresh})
            self._marks_read = state.marks
        self.state = state

    async def _take(self, after: int, upto: int) -> None:
        store, scope, method = self._store, self.scope, self.method
        fresh = await store.memories(scope, method=method, after=after, upto=upto)
        ids, vectors = await store.vectors(scope, method=method, after=after, upto=upto)
        links = await store.links(scope, method=method, after=after, upto=upto)
        rows = {memory: i for i, memory in enumerate(ids)}
        # Another task may have taken in the same ones while this one was reading.
        last = self.memories[-1].id if self.memories else 0
        self._add([m for m in fresh if m.id in rows and m.id > last], rows, vectors)
        for link in links:
            if link.older in self._place and link.newer in self._place:
                self.graph.add(link)

    def _add(self, fresh: Sequence[Memory], rows: Mapping[int, int], vectors: Vectors) -> None:
        for memory in fresh:
            self._place[memory.id] = len(self.memories)
            self.memories.append(memory)
        if not fresh:
            return
        units = [self._unit(memory) for memory in fresh]
        self._ranking.extend(units, np.asarray(vectors)[[rows[memory.id] for memory in fresh]])
        self._ids.extend([memory.id for memory in fresh])
        self._session_of.extend([memory.session for memory in fresh])
        self._times.extend([micros(memory.at) for memory in fresh])
        codes = [self._kinds.setdefault(memory.kind, len(self._kinds)) for memory in fresh]
        self._kind_of.extend(codes)

    def _unit(self, memory: Memory) -> Unit:
        session = self.sessions.get(memory.session)
        return Unit(
            text=memory.text,
            session=memory.session,
            at=memory.at if session is None or session.dated else None,
            speakers=memory.speakers,
            turn=memory.source_turns[0] if memory.source_turns else 0,
        )

    def nearest(
        self, vectors: Vectors, k: int, *, among: NDArray[np.bool_] | None = None
    ) -> list[list[tuple[Memory, float]]]:
        """For each row, the ``k`` memories of highest cosine, best first.

        ``among`` masks what may be found: ``(rows, memories)``.
        """
        self._check(among)
        if not self.memories:
            return [[] for _ in vectors]
        known = self._ranking.vectors.values
        found: list[list[tuple[Memory, float]]] = []
        for row, vector in enumerate(np.asarray(vectors, np.float32)):
            similarity = inner_products(known, vector)
            if among is not None:
                similarity[~among[row]] = -np.inf
            found.append(self._best(similarity, k))
        return found

    def without_speakers(self, text: str) -> str:
        """What the vector of a ``hybrid`` search should be of: the text without speakers' names."""
        return self._ranking.without_speakers(text)

    def search(
        self,
        query: Query,
        k: int,
        mode: RetrievalMode = "hybrid",
        *,
        among: NDArray[np.bool_] | None = None,
    ) -> list[tuple[Memory, float]]:
        """The ``k`` memories that fit the query best; ``among`` masks what may be found."""
        self._check(among)
        if not self.memories:
            return []
        if mode == "dense":
            return self.nearest(query.vector[None], k, among=_row(among))[0]
        if mode == "lexical":
            scores = self._ranking.lexical.scores(query.text)
        elif self.approximate.applies(k):
            places, scores = self.approximate.scores(query, among)
            return self._best(scores, k, places)
        else:
            scores = self._ranking.scores(query)
        if among is not None:
            scores = np.where(among, scores, -np.inf)
        return self._best(scores, k)

    def _check(self, among: NDArray[np.bool_] | None) -> None:
        """Raises ValueError for a mask that was made before the view grew."""
        if among is not None and among.shape[-1] != len(self):
            raise ValueError(
                f"the mask is of {among.shape[-1]} memories, and the view has {len(self)}: make it "
                "when it is used, with no await between"
            )

    @property
    def size(self) -> int:
        """About what the view takes in memory, counted in memories and turns."""
        return BASE_SIZE + len(self.memories) + len(self._turns)

    @property
    def ranking_config(self) -> RankingConfig:
        """The weights by which a search ranks."""
        return self._ranking.config

    @property
    def live(self) -> NDArray[np.bool_]:
        """Which memories no mark stands on, as ``memories`` are ordered."""
        found = np.ones(len(self.memories), bool)
        found[[self._place[memory] for memory in self.marks if memory in self._place]] = False
        return found

    def kind_mask(self, *kinds: str) -> NDArray[np.bool_]:
        """Which memories are of any of these kinds, as ``memories`` are ordered."""
        codes = [self._kinds[kind] for kind in kinds if kind in self._kinds]
        return np.isin(self._kind_of.values, codes)

    def live_mask(self, *kinds: str) -> NDArray[np.bool_]:
        """Which memories of any of these kinds no mark stands on, as ``memories`` are ordered."""
        return self.live & self.kind_mask(*kinds)

    def live_memories(self, *kinds: str) -> list[Memory]:
        """Return the live memories of any of these kinds, in order of commit."""
        mask = self.live_mask(*kinds)
        return [memory for memory, live in zip(self.memories, mask, strict=True) if live]

    def source_turns(self, memory: Memory) -> tuple[int, ...]:
        """The turns that a memory rests on, its own and those behind what it was made of."""
        turns, seen, waiting = set(memory.source_turns), {memory.id}, list(memory.derived_from)
        while waiting:
            one = waiting.pop()
            if one not in seen and one in self:
                seen.add(one)
                turns.update(self[one].source_turns)
                waiting += self[one].derived_from
        return tuple(sorted(turns))

    async def recall_times(self) -> Mapping[int, Sequence[datetime]]:
        """When each memory was in front of the agent as it replied, ascending, by memory."""
        after = self._recalls_upto
        if self.state.turns > after:
            turns = await self._store.turns_with_recalls(self.scope, after=after)
            if turns and after == self._recalls_upto:  # no other task was faster
                self._recalls_upto = turns[-1].id
                for turn in turns:
                    for memory in turn.recalled:
                        self._recalls.setdefault(memory, []).append(turn.at)
        return self._recalls

    def _best(
        self, scores: Scores, k: int, places: Positions | None = None
    ) -> list[tuple[Memory, float]]:
        """The best of all memories, or of those at some places."""
        ids = self._ids.values if places is None else self._ids.values[places]
        picked = [i for i in top_k(scores, ids, k) if np.isfinite(scores[i])]
        found = picked if places is None else places[picked]
        return [(self.memories[at], float(scores[i])) for at, i in zip(found, picked, strict=True)]

    async def recalled_texts(self, turns: Sequence[Turn]) -> dict[int, str]:
        """Texts of the memories that were in front of the agent in these turns, by number.

        Whichever method made them: the one that remembers a session need not be the one with which
        it was talked. Those that are gone are left out.
        """
        wanted = {number for turn in turns for number in turn.recalled}
        found = {number: self[number].text for number in wanted if number in self}
        if missing := sorted(wanted - set(found)):
            others = await self._store.memories(self.scope, ids=missing)
            found.update({memory.id: memory.text for memory in others})
        return found

    async def turns(self, ids: Sequence[int]) -> list[Turn]:
        """Turns by number, in order of number; the log never changes, so they are kept."""
        missing = [turn for turn in ids if turn not in self._turns]
        if missing:
            found = await self._store.turns(self.scope, ids=missing)
            self._turns.update({turn.id: turn for turn in found})
        return [self._turns[turn] for turn in sorted(set(ids)) if turn in self._turns]

    async def all_turns(self) -> list[Turn]:
        """Every turn of the scope, in order of number."""
        return await self._store.turns(self.scope)

    async def session_turns(self, session: int) -> list[Turn]:
        """All turns of a session, in order."""
        return await self._store.turns(self.scope, session=session)

    async def turns_with_neighbors(self, ids: Sequence[int]) -> list[Turn]:
        """Turns with the turn before and after each in its session, once each, in order."""
        centre = await self.turns(ids)
        close = await self.turns(sorted({n + d for n in ids for d in (-1, 0, 1) if n + d > 0}))
        wanted = {(turn.session, turn.id + d) for turn in centre for d in (-1, 0, 1)}
        return [turn for turn in close if (turn.session, turn.id) in wanted]


class ScopeCache:
    """Views of many scopes; those least used are let go when all together pass ``room``."""

    def __init__(
        self,
        store: Store,
        method: str,
        embedder: str,
        ranking: RankingConfig | None = None,
        *,
        capacity: int = DEFAULT_CAPACITY,
    ) -> None:
        self._ranking, self._room = ranking, capacity
        self._store, self._method, self._embedder = store, method, embedder
        self._views: OrderedDict[Scope, ScopeIndex] = OrderedDict()
        self._weights: dict[Scope, int] = {}
        self._held = 0  # the sum of the weights
        self._indexer = IndexBuilder(store, method, embedder)

    def with_method(self, method: str) -> ScopeCache:
        """Views of what another method is making, in the same store.

        For remembering, which compares and does not search: no index is made of them.
        """
        exact = replace(self._ranking or RankingConfig(), exact_upto=maxsize)
        return ScopeCache(self._store, method, self._embedder, exact)

    async def get(self, scope: Scope) -> ScopeIndex:
        """The scope's view as of now: one cheap read when nothing has changed.

        Raises EmbedderMismatch when the store's vectors are another embedder's.
        """
        state = await self._store.scope_version(scope)
        if state.embedder not in ("", self._embedder):
            raise EmbedderMismatch(
                f"the store's vectors are {state.embedder}'s, not {self._embedder}'s: "
                "open it with that embedder, or run `theanine reembed`"
            )
        view = self._views.get(scope)
        if view is None or _identity(view.state) != _identity(state):
            view = ScopeIndex(self._store, scope, self._method, state, self._ranking)
            await view.extend(state)
        elif (view.state.memories, view.state.marks) != (state.memories, state.marks):
            await view.extend(state)
        view.state = state
        self._indexer.update(scope, state, view.approximate)
        self._views[scope] = view
        self._views.move_to_end(scope)
        self._held += view.size - self._weights.get(scope, 0)
        self._weights[scope] = view.size
        while self._held > self._room and len(self._views) > 1:
            gone, _ = self._views.popitem(last=False)
            self._held -= self._weights.pop(gone)
        return view

    async def settled(self, scope: Scope) -> ScopeIndex:
        """The scope's view, once no index of it is being made."""
        view = await self.get(scope)
        while await self._indexer.wait():  # that was of fewer memories, or another scope's
            view = await self.get(scope)
        return view

    async def close(self) -> None:
        """End what goes on in the background."""
        await self._indexer.close()


def _row(mask: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    return None if mask is None else mask[None]


def _identity(state: ScopeVersion) -> tuple[int, int, str]:
    return (state.scope_id, state.epoch, state.embedder)
