"""The log of one scope for recall: its candidates, what was remembered of them, and links.

Texts stay in the store: turns and memories are read when they are returned. Everything else can be
stored next to the store (:mod:`theanine.retrieval.snapshot`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from hashlib import blake2b
from typing import Any, TypeVar

import anyio
import numpy as np
from numpy.typing import NDArray

from theanine.clock import micros
from theanine.embeddings.base import Embedder
from theanine.embeddings.encoder import NAME as ENCODER
from theanine.embeddings.static import bundled_embedder
from theanine.graph import Pair
from theanine.retrieval.candidates import Candidate, CandidateIndex, RankedCandidate
from theanine.retrieval.growing_array import GrowingArray, array_state, restore_arrays
from theanine.retrieval.lexical import content_words
from theanine.retrieval.links import LinkIndex
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
from theanine.types import STATE, Link, Memory, Relation, Scope, Turn

AT_ONCE = 1_000
"""Turns that the fitted encoder reads while a recall waits: up to 4 s."""
BATCH = 500
"""Turns or memories read at once."""
_TERMS = 4
"""Terms with their postings that take as much main memory as a memory."""

_logger = logging.getLogger(__name__)

_Entry = TypeVar("_Entry", Turn, Memory)


class LogIndex:
    """Turns, statements and links of one scope and method.

    Attributes:
        candidates: what is searched.
        embedder: made the vectors of the candidates, and makes those of queries.
        includes: whether a memory is within the bounds, if there are any.
        derived: what others made of turns that were read; dropped with these.
    """

    def __init__(
        self,
        store: Store,
        scope: Scope,
        method: str,
        ranking: RankingConfig | None = None,
        snapshots: SnapshotWriter | None = None,
        *,
        is_stand_in: bool = False,
    ) -> None:
        self.candidates = CandidateIndex(ranking)
        self._is_stand_in = is_stand_in
        self._store, self._scope, self._method = store, scope, method
        self._config, self._snapshots = ranking, snapshots
        self._reading: asyncio.Task[None] | None = None
        self._stand_in: LogIndex | None = None
        self._lock = anyio.Lock()
        # Pairs of a memory and one of its source turns, in order of memory.
        self._supported: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._sources: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._by_turn: NDArray[np.int64] | None = None  # the order of the pairs by turn
        # Pairs of a state and one of the memories that it tells of.
        self._states: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._told: GrowingArray[np.int64] = GrowingArray(np.int64)
        self._links = LinkIndex()
        self._read_links = 0
        self._reads_snapshot = True
        self._last: dict[str, Any] = {}  # number and hash of the last turn and memory
        self.stored = 0  # candidates and sources in the stored snapshot
        self._turns: dict[int, Turn] = {}
        self._memories: dict[int, Memory] = {}
        self._links_of_pairs: dict[Pair, Link] = {}
        self.derived: dict[Hashable, object] = {}
        self.includes: Callable[[int], bool] = lambda memory: True

    def __len__(self) -> int:
        return len(self.candidates)

    # Reading from the store

    def skip(self, turns: int, memories: int) -> None:
        """Leave out the first turns, and the first memories with their links."""
        self.candidates.last_turn, self.candidates.last_memory = turns, memories
        self._read_links = memories
        self._reads_snapshot = False

    async def searchable(self, state: ScopeVersion, embedder: Embedder) -> LogIndex:
        """Return this index up to ``state`` or, while it is far behind, one by word vectors.

        The fitted encoder needs 4 ms for a turn: many of them are read in the background, and until
        then the bundled word vectors stand in.
        """
        if await self._is_far_behind(state, embedder):
            self._read_on(state, embedder)
            return await self.stand_in(state)
        self._stand_in = None
        await self.extend(state, embedder)
        return self

    async def stand_in(self, state: ScopeVersion) -> LogIndex:
        """Return an index up to ``state`` by the bundled word vectors."""
        if self._stand_in is None:
            self._stand_in = LogIndex(
                self._store,
                self._scope,
                self._method,
                self._config,
                self._snapshots,
                is_stand_in=True,
            )
        await self._stand_in.extend(state, bundled_embedder())
        return self._stand_in

    async def read_all(self, state: ScopeVersion, embedder: Embedder) -> None:
        """Bring this index up to ``state``; recalls meanwhile take the stand-in."""
        if await self._is_far_behind(state, embedder):
            reading = self._read_on(state, embedder)
            await asyncio.wait([reading])
            if not reading.cancelled():  # as when this index was dropped
                reading.result()
        await self.extend(state, embedder)

    async def prepare(self, state: ScopeVersion, embedder: Embedder) -> None:
        """Read what a recall needs at least; of the encoder's vectors none.

        It makes some itself, and for many takes the stand-in.
        """
        if embedder.name != ENCODER:
            await self.extend(state, embedder)
        elif await self._is_far_behind(state, embedder):
            await self.stand_in(state)

    async def _is_far_behind(self, state: ScopeVersion, embedder: Embedder) -> bool:
        """Whether many turns are to be read, or are being read in the background."""
        if embedder.name != ENCODER:
            return False
        if self._reading is None or self._reading.done():
            async with self._lock:
                await self._restore(state, embedder)
            return state.turns - self.candidates.last_turn > AT_ONCE
        return True

    def _read_on(self, state: ScopeVersion, embedder: Embedder) -> asyncio.Task[None]:
        """Return the task that reads in the background."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self.extend(state, embedder))
            self._reading.add_done_callback(_warn_of_failure)
        return self._reading

    def cancel_reading(self) -> None:
        """Ask what is being read in the background to stop."""
        if self._reading is not None:
            self._reading.cancel()

    async def stop_reading(self) -> None:
        """Stop what is being read in the background."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    async def _restore(self, state: ScopeVersion, embedder: Embedder) -> None:
        """Read the snapshot, if there is one and nothing was read yet."""
        self.embedder, self.candidates.embedder = embedder, embedder.name
        if self._reads_snapshot and not len(self) and state.turns + state.memories >= MIN_LAG:
            self._reads_snapshot = False
            await self._read_snapshot(state, embedder)

    async def extend(self, state: ScopeVersion, embedder: Embedder) -> None:
        """Read what was committed up to ``state``."""
        async with self._lock:
            added = self.candidates.last_turn < state.turns or self._read_links < state.memories
            await self._restore(state, embedder)
            await self._read_turns(state, embedder)
            await self._read_memories(state.memories, embedder)
            if self._read_links < state.memories:
                links = await self._store.links(
                    self._scope, method=self._method, after=self._read_links, upto=state.memories
                )
                self._links.extend(links)
                self._read_links = state.memories
            if added:
                self._write_snapshot(state, embedder)

    async def _read_turns(self, state: ScopeVersion, embedder: Embedder) -> None:
        upto = state.turns
        for after in range(self.candidates.last_turn, upto, BATCH):
            last = min(after + BATCH, upto)
            # With the one before, which the next may answer.
            turns = await self._store.turns(self._scope, after=max(after - 1, 0), upto=last)
            await self.candidates.extend(turns, (), embedder)
            self.candidates.last_turn = last
            if turns and turns[-1].id > after:
                self._last["turn"] = [turns[-1].id, _hash_entry(turns[-1])]
            if last < upto:  # what takes long goes on from here, should it be stopped
                self._write_snapshot(state, embedder)

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
            told = [(m.id, of) for m in memories if m.kind == STATE for of in m.derived_from]
            self._states.extend([state for state, _ in told])
            self._told.extend([memory for _, memory in told])
            if memories:
                self._last["memory"] = [memories[-1].id, _hash_entry(memories[-1])]

    # Snapshots

    @property
    def _extent(self) -> int:
        """The size of a snapshot: the number of candidates and of pairs of memory and source."""
        return len(self) + len(self._sources)

    async def _read_snapshot(self, state: ScopeVersion, embedder: Embedder) -> None:
        stamp = self._stamp(state, embedder)
        snapshot = await read_snapshot(self._store, self._scope, stamp)
        if snapshot and await self._is_current(snapshot["last"], state):
            restore_arrays(self, snapshot)
            self.candidates.restore(snapshot["candidates"])
            self._links.restore(snapshot["links"])
            self._read_links = snapshot["read_links"]
            self._last = snapshot["last"]
            self.stored = self._extent

    async def _is_current(self, last: Mapping[str, tuple[int, str]], state: ScopeVersion) -> bool:
        """Whether the last turn and memory of a snapshot are still in the store.

        They are not if the store was restored from a backup.
        """
        numbers = {kind: number for kind, (number, _) in last.items()}
        if numbers.get("turn", 0) > state.turns or numbers.get("memory", 0) > state.memories:
            return False
        turns, memories = await self._store.turns_and_memories(
            self._scope,
            [numbers["turn"]] if "turn" in numbers else [],
            [numbers["memory"]] if "memory" in numbers else [],
        )
        hashes = [_hash_entry(entry) for entry in (*turns, *memories)]
        return hashes == [last[kind][1] for kind in ("turn", "memory") if kind in last]

    def _write_snapshot(self, state: ScopeVersion, embedder: Embedder) -> None:
        """Start writing a snapshot, if the stored one lacks enough."""
        lag = self._extent - self.stored
        if lag < MIN_LAG or lag * MAX_LAG < self._extent:
            return
        if self._snapshots is None or self._snapshots.is_busy:
            return
        self.stored = self._extent
        contents = {
            "candidates": self.candidates.state(),
            "links": self._links.state(),
            "read_links": self._read_links,
            "last": dict(self._last),
        }
        self._snapshots.write(
            self._scope,
            array_state(self) | contents,
            self._stamp(state, embedder),
            ends_stand_in=embedder.name == ENCODER and self.candidates.last_turn == state.turns,
        )

    def _stamp(self, state: ScopeVersion, embedder: Embedder) -> SnapshotStamp:
        return SnapshotStamp(
            scope_id=state.scope_id,
            epoch=state.epoch,
            method=self._method,
            embedder=embedder.name,
            settings=self.candidates.settings,
            stand_in=self._is_stand_in,
        )

    # Candidates

    async def load(self, positions: Iterable[int]) -> dict[int, Candidate]:
        """Return candidates by position, with the turns and memories that they are of.

        Those that were erased since the index was read are missing.
        """
        owners = {
            at: (int(self.candidates.turns[at]), int(self.candidates.memories[at]))
            for at in positions
        }
        turns, memories = await self.read(
            [turn for turn, _ in owners.values() if turn],
            [memory for _, memory in owners.values() if memory],
        )
        spans = self.candidates.spans([*owners])
        return {
            at: Candidate(owner, spans[at])
            for at, (turn, memory) in owners.items()
            if (owner := turns.get(turn) or memories.get(memory))
        }

    # Memories and links

    def within(self, includes: Callable[[int], bool]) -> LogIndex:
        """Return a view with some memories only, and the links between them; it can be read."""
        view = copy(self)
        view.includes = includes
        return view

    def memories_of_turns(self, turns: Sequence[int]) -> Mapping[int, Sequence[int]]:
        """Return the ids of the memories that turns support, by turn."""
        if self._by_turn is None:
            self._by_turn = np.argsort(self._sources.values, kind="stable")
        ends = np.array(turns, np.int64)[:, None] + np.arange(2)
        places = np.searchsorted(self._sources.values, ends, sorter=self._by_turn).tolist()
        memories, order = self._supported.values, self._by_turn
        return {
            turn: list(filter(self.includes, memories[order[first:last]].tolist()))
            for turn, (first, last) in zip(turns, places, strict=True)
        }

    def source_turns(self, memory: int) -> Sequence[int]:
        """Return the ids of the turns that support a memory."""
        first, last = np.searchsorted(self._supported.values, [memory, memory + 1]).tolist()
        turns: list[int] = self._sources.values[first:last].tolist()
        return turns

    @property
    def has_states(self) -> bool:
        """Whether a memory tells what holds now."""
        return len(self._states) > 0

    def told_by(self, state: int) -> Sequence[int]:
        """Return the ids of the memories that a state tells of; empty for any other memory."""
        told: list[int] = self._told.values[self._states.values == state].tolist()
        return told

    def states_of(self, memory: int) -> Sequence[int]:
        """Return the ids of the states that tell of a memory."""
        states: list[int] = self._states.values[self._told.values == memory].tolist()
        return list(filter(self.includes, states))

    def neighbors(self, memory: int) -> Iterable[tuple[int, Relation | None]]:
        """Return what a memory is linked with, first older memories, and how."""
        return [found for found in self._links.neighbors(memory) if self.includes(found[0])]

    def relations(self, memories: Collection[int]) -> Mapping[Pair, Relation | None]:
        """Return the relations of some memories to each other, by older and newer memory."""
        return self._links.among([*filter(self.includes, memories)])

    async def links(self, pairs: Sequence[Pair]) -> list[Link]:
        """Return the links of pairs of an older and a newer memory, in their order.

        Empty if one of them was erased since the index was read. Cached, as they never change.
        """
        found = {pair: self._links_of_pairs.get(pair) for pair in pairs}
        if newer := [newer for (_, newer), link in found.items() if link is None]:
            links = await self._store.links(self._scope, method=self._method, newer=newer)
            added = {(link.older, link.newer): link for link in links}
            added = {pair: added[pair] for pair in found if pair in added}
            found |= added
            self._links_of_pairs |= added
        links = [link for pair in pairs if (link := found[pair])]
        return links if len(links) == len(pairs) else []

    async def saying(self, memory: int) -> list[RankedCandidate]:
        """Return the candidates that say what a memory says: itself, or passages it quotes."""
        if own := self.candidates.of_memory(memory):
            return own
        quoted: list[RankedCandidate] = []
        for turn in self.source_turns(memory):
            passages = self.candidates.of_turn(turn)
            if len(passages) > 1:
                words = {
                    word for m in await self.memories([memory]) for word in content_words(m.text)
                }
                loaded = await self.load([passage.position for passage in passages])
                shared = {
                    at: len(words.intersection(content_words(passage.text)))
                    for at, passage in loaded.items()
                }
                passages = [max(passages, key=lambda passage: shared.get(passage.position, 0))]
            quoted += passages
        return quoted

    # Turns and memories

    async def turns(self, ids: Iterable[int]) -> list[Turn]:
        """Return turns by id, in order of id."""
        turns, _ = await self.read(ids, ())
        return [turns[number] for number in sorted(turns)]

    async def memories(self, ids: Iterable[int]) -> list[Memory]:
        """Return memories by id, in order of id."""
        _, memories = await self.read((), ids)
        return [memories[number] for number in sorted(memories)]

    async def read(
        self, turns: Iterable[int], memories: Iterable[int]
    ) -> tuple[dict[int, Turn], dict[int, Memory]]:
        """Return turns and memories by id; cached, since they never change.

        Their metadata is a copy: a caller of the client may write to it.
        """
        found_turns = {number: self._turns.get(number) for number in turns}
        found_memories = {number: self._memories.get(number) for number in memories}
        missing = [
            sorted(number for number, entry in found.items() if entry is None)
            for found in (found_turns, found_memories)
        ]
        if any(missing):
            # Kept apart from the caches, which another task may empty meanwhile.
            added = await self._store.turns_and_memories(self._scope, *missing)
            found_turns |= {turn.id: turn for turn in added[0]}
            found_memories |= {memory.id: memory for memory in added[1]}
            self._turns.update((turn.id, turn) for turn in added[0])
            self._memories.update((memory.id, memory) for memory in added[1])
        return (
            {number: _with_own_metadata(turn) for number, turn in found_turns.items() if turn},
            {number: _with_own_metadata(each) for number, each in found_memories.items() if each},
        )

    def drop_read(self) -> None:
        """Drop the turns, memories and links that were read."""
        self._turns.clear()
        self._memories.clear()
        self._links_of_pairs.clear()
        self.derived.clear()

    @property
    def read_entries(self) -> int:
        """Turns, memories and links in main memory."""
        parts = (self._turns, self._memories, self._links_of_pairs, self.derived)
        return sum(map(len, parts))

    @property
    def size(self) -> int:
        """Approximate use of main memory, in memories, besides :attr:`read_entries`."""
        return len(self.candidates) + self.candidates.read_terms // _TERMS


def _warn_of_failure(reading: asyncio.Task[None]) -> None:
    if not reading.cancelled() and (error := reading.exception()):
        _logger.warning("a log could not be read in the background: %s", error)


def _with_own_metadata(entry: _Entry) -> _Entry:
    return replace(entry, metadata=dict(entry.metadata)) if entry.metadata else entry


def _hash_entry(entry: Turn | Memory) -> str:
    content = f"{micros(entry.at)} {entry.text}".encode("utf-8", "surrogatepass")
    return blake2b(content, digest_size=16).hexdigest()
