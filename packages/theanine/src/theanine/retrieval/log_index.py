"""The log of one scope for recall: its candidates, what was remembered of them, and links.

Texts stay in the store: turns and memories are read when they are returned. Everything else can be
stored next to the store (:mod:`theanine.retrieval.snapshot`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, TypeVar

import anyio
import numpy as np
from numpy.typing import NDArray

from theanine.clock import micros
from theanine.embeddings.base import Embedder
from theanine.graph import Graph
from theanine.retrieval.candidates import Candidate, CandidateIndex, RankedCandidate
from theanine.retrieval.growing_array import GrowingArray, array_state, restore_arrays
from theanine.retrieval.lexical import content_words
from theanine.retrieval.ranking import RankingConfig
from theanine.retrieval.snapshot import (
    MAX_LAG,
    MIN_LAG,
    SnapshotStamp,
    SnapshotWriter,
    read_snapshot,
)
from theanine.store.base import Store
from theanine.store.values import ScopeVersion
from theanine.types import Memory, Scope, Turn

BATCH = 2_000
"""Turns or memories read at once."""
CACHED = 5_000
"""Turns, memories and candidates each that are kept in memory after they were returned: 15 MB."""


class LogIndex:
    """Turns, statements and links of one scope and method.

    Attributes:
        candidates: what is searched.
        graph: the links between memories.
    """

    def __init__(
        self,
        store: Store,
        scope: Scope,
        method: str,
        ranking: RankingConfig | None = None,
        snapshots: SnapshotWriter | None = None,
    ) -> None:
        self.candidates = CandidateIndex(ranking)
        self.graph = Graph()
        self._store, self._scope, self._method = store, scope, method
        self._snapshots = snapshots
        self._lock = anyio.Lock()
        # Pairs of a memory and one of its source turns, in order of memory.
        self._supported: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._sources: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._by_turn: NDArray[np.int64] | None = None  # the order of the pairs by turn
        self._read_links = 0
        self._last: dict[str, Any] = {}  # number and hash of the last turn and memory
        self.stored = 0  # candidates in the stored snapshot
        self._turns: dict[int, Turn] = {}
        self._memories: dict[int, Memory] = {}
        self._candidates: dict[int, Candidate] = {}

    def __len__(self) -> int:
        return len(self.candidates)

    # Reading from the store

    async def extend(self, state: ScopeVersion, embedder: Embedder) -> None:
        """Read what was committed up to ``state``."""
        async with self._lock:
            added = self.candidates.last_turn < state.turns
            if not len(self) and state.turns > MIN_LAG:
                await self._read_snapshot(state, embedder)
            await self._read_turns(state.turns, embedder)
            await self._read_memories(state.memories, embedder)
            if self._read_links < state.memories:
                links = await self._store.links(
                    self._scope, method=self._method, after=self._read_links, upto=state.memories
                )
                for link in links:
                    self.graph.add(link)
                self._read_links = state.memories
            if added:
                self._write_snapshot(self._stamp(state, embedder))

    async def _read_turns(self, upto: int, embedder: Embedder) -> None:
        for after in range(self.candidates.last_turn, upto, BATCH):
            last = min(after + BATCH, upto)
            turns = await self._store.turns(self._scope, after=after, upto=last)
            await self.candidates.extend(turns, (), embedder)
            self.candidates.last_turn = last
            if turns:
                self._last["turn"] = [turns[-1].id, _hash_entry(turns[-1])]

    async def _read_memories(self, upto: int, embedder: Embedder) -> None:
        for after in range(self.candidates.last_memory, upto, BATCH):
            last = min(after + BATCH, upto)
            memories = await self._store.memories(
                self._scope, method=self._method, after=after, upto=last
            )
            await self.candidates.extend((), memories, embedder)
            self.candidates.last_memory = last
            pairs = [(memory.id, turn) for memory in memories for turn in memory.source_turns]
            self._supported.extend([memory for memory, _ in pairs])
            self._sources.extend([turn for _, turn in pairs])
            self._by_turn = None
            if memories:
                self._last["memory"] = [memories[-1].id, _hash_entry(memories[-1])]

    # Snapshots

    async def _read_snapshot(self, state: ScopeVersion, embedder: Embedder) -> None:
        stamp = self._stamp(state, embedder)
        snapshot = await read_snapshot(self._store, self._scope, stamp)
        if snapshot and await self._is_current(snapshot["last"], state):
            restore_arrays(self, snapshot)
            self.candidates.restore(snapshot["candidates"])
            self._last = snapshot["last"]
            self.stored = len(self)

    async def _is_current(self, last: Mapping[str, tuple[int, str]], state: ScopeVersion) -> bool:
        """Whether the last turn and memory of a snapshot are still in the store.

        They are not if the store was restored from a backup.
        """
        for kind, read, highest in (
            ("turn", self.turns, state.turns),
            ("memory", self.memories, state.memories),
        ):
            if kind in last:
                number, digest = last[kind]
                entries = await read([number]) if number <= highest else []
                if [_hash_entry(entry) for entry in entries] != [digest]:
                    return False
        return True

    def _write_snapshot(self, stamp: SnapshotStamp) -> None:
        """Start writing a snapshot, if the stored one lacks enough."""
        lag = len(self) - self.stored
        if lag < MIN_LAG or lag * MAX_LAG < len(self):
            return
        if self._snapshots is None or self._snapshots.is_busy:
            return
        self.stored = len(self)
        contents = {"candidates": self.candidates.state(), "last": dict(self._last)}
        self._snapshots.write(self._scope, array_state(self) | contents, stamp)

    def _stamp(self, state: ScopeVersion, embedder: Embedder) -> SnapshotStamp:
        return SnapshotStamp(
            scope_id=state.scope_id,
            epoch=state.epoch,
            method=self._method,
            embedder=embedder.name,
            settings=self.candidates.settings,
        )

    # Candidates

    async def load(self, ranked: Sequence[RankedCandidate]) -> list[Candidate]:
        """Return candidates with the turns and memories that they are of."""
        loaded = self._candidates
        if missing := [found for found in ranked if found.position not in loaded]:
            turns = {t.id: t for t in await self.turns(f.turn for f in missing if f.turn)}
            memories = {m.id: m for m in await self.memories(f.memory for f in missing if f.memory)}
            if len(loaded) > CACHED:
                positions = {found.position for found in ranked}
                kept = {at: loaded[at] for at in positions.intersection(loaded)}
                loaded = self._candidates = kept
            for found in missing:
                owner = turns[found.turn] if found.turn else memories[found.memory]
                loaded[found.position] = Candidate(owner, self.candidates.span(found.position))
        return [loaded[found.position] for found in ranked]

    def includes(self, memory: int) -> bool:
        """Return True: an index of the whole log has no bounds of time."""
        return True

    def memories_of_turn(self, turn: int) -> Sequence[int]:
        """Return the ids of the memories that a turn supports."""
        if self._by_turn is None:
            self._by_turn = np.argsort(self._sources.values, kind="stable")
        sources = self._sources.values
        first, last = np.searchsorted(sources, [turn, turn + 1], sorter=self._by_turn).tolist()
        memories: list[int] = self._supported.values[self._by_turn[first:last]].tolist()
        return memories

    async def saying(self, memory: Memory) -> list[RankedCandidate]:
        """Return the candidates that say what a memory says: itself, or passages it quotes."""
        if own := self.candidates.of_memory(memory.id):
            return own
        quoted: list[RankedCandidate] = []
        for turn in memory.source_turns:
            passages = self.candidates.of_turn(turn)
            if len(passages) > 1:
                words = set(content_words(memory.text))
                shared = [
                    len(words.intersection(content_words(passage.text)))
                    for passage in await self.load(passages)
                ]
                passages = [passages[shared.index(max(shared))]]
            quoted += passages
        return quoted

    # Turns and memories

    async def turns(self, ids: Iterable[int]) -> list[Turn]:
        """Return turns by id, in order of id; cached, since turns never change."""
        return await _load(self._turns, ids, partial(self._store.turns, self._scope))

    async def memories(self, ids: Iterable[int]) -> list[Memory]:
        """Return memories by id, in order of id; cached, since memories never change."""
        return await _load(self._memories, ids, partial(self._store.memories, self._scope))

    @property
    def size(self) -> int:
        """Approximate use of main memory, in memories."""
        return len(self.candidates) + len(self._turns) + len(self._memories)


E = TypeVar("E", Turn, Memory)


async def _load(
    cached: dict[int, E], ids: Iterable[int], read: Callable[..., Awaitable[list[E]]]
) -> list[E]:
    """Return entries by id from a cache, after reading the missing ones into it."""
    wanted = set(ids)
    entries = {number: cached[number] for number in wanted if number in cached}
    if len(entries) < len(wanted):
        added = {entry.id: entry for entry in await read(ids=sorted(wanted - set(entries)))}
        if len(cached) > CACHED:
            cached.clear()
        cached.update(added)
        entries |= added
    return [entries[number] for number in sorted(entries)]


def _hash_entry(entry: Turn | Memory) -> str:
    content = f"{micros(entry.at)} {entry.text}".encode("utf-8", "surrogatepass")
    return blake2b(content, digest_size=16).hexdigest()
