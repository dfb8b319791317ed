"""Cache of users' graphs as compressed JSON, each valid until something in it changes."""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from weakref import WeakValueDictionary

import anyio
from anyio import to_thread
from pydantic import TypeAdapter

from theanine.client.hiding import find_hidden
from theanine.clock import Clock
from theanine.page.graph import MemoryGraph, build_graph, split_graph
from theanine.store.sql.memories import load_memories
from theanine.store.sql.store import SqlStore
from theanine.store.values import ScopeVersion
from theanine.types import LIVE_KINDS, PIN_KINDS, STATE, Mark, Scope

LEVEL = 4
"""With compression at level 9, a large graph takes four times as long and is a tenth smaller."""
MOST_KEPT = 8
"""Graphs that a process caches; a large one takes a second to make."""

_GRAPH = TypeAdapter(MemoryGraph)


_Key = tuple[Scope, str, bool]


class GraphCache:
    """The most recently used graphs, as JSON compressed with gzip."""

    def __init__(self, store: SqlStore, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._kept: OrderedDict[_Key, tuple[ScopeVersion, tuple[bytes, ...]]] = OrderedDict()
        self._making: WeakValueDictionary[_Key, anyio.Lock] = WeakValueDictionary()

    async def read(self, scope: Scope, method: str, *, in_parts: bool) -> tuple[bytes, ...]:
        """Return the graph of a user's memories by one method, as pieces of one gzip stream.

        With ``in_parts`` it is a JSON object a line, each of which ends with a piece.
        """
        key = (scope, method, in_parts)
        # One request makes it, those that come meanwhile wait for it.
        lock = self._making.setdefault(key, anyio.Lock())
        async with lock:
            # Read first: what changes while the graph is made has another version.
            version = await self._store.scope_version(scope)
            hidden = await find_hidden(self._store, scope, version, self._clock())
            version = replace(version, hidden=hidden)
            known, content = self._kept.pop(key, (None, ()))
            if known != version:
                content = await self._make(scope, method, version, in_parts)
            self._kept[key] = (version, content)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return content

    async def _make(
        self, scope: Scope, method: str, version: ScopeVersion, in_parts: bool
    ) -> tuple[bytes, ...]:
        store, hidden = self._store, version.hidden
        memories = [
            memory
            for memory in await store.read(
                load_memories, scope, method=method, with_provenance=False
            )
            if not hidden.has_memory(memory.id, memory.session)
        ]
        # A state's topic and end are those of the statements that it is of.
        if states := [memory.id for memory in memories if memory.kind == STATE]:
            read = {memory.id: memory for memory in await store.memories(scope, ids=states)}
            memories = [read.get(memory.id, memory) for memory in memories]
        links = await store.links(scope, method=method)
        marks = await store.marks(scope, method=method)
        assistants = await store.assistants(scope)
        sessions = {session.id: session for session in await store.sessions(scope, method)}
        methods = {name: count for name, count in (await store.methods(scope)).items() if count}

        def make() -> tuple[bytes, ...]:
            ends = [mark for mark in marks if mark.kind not in LIVE_KINDS]
            graph = build_graph(
                memories,
                links,
                ends,
                sessions,
                find_pinned(marks),
                methods,
                assistants=assistants,
            )
            parts = split_graph(graph) if in_parts else [graph]
            return tuple(_compress(_GRAPH.dump_json(part) for part in parts))

        return await to_thread.run_sync(make)  # others are served meanwhile


def find_pinned(marks: Iterable[Mark]) -> set[int]:
    """Return the ids of the memories that are pinned."""
    latest = {mark.memory: mark.kind for mark in marks if mark.kind in PIN_KINDS}
    return {memory for memory, kind in latest.items() if kind == "pinned"}


def _compress(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a gzip stream in pieces, each of which can be read to the end of a line."""
    compress = zlib.compressobj(LEVEL, wbits=zlib.MAX_WBITS | 16)
    for line in lines:
        yield compress.compress(line + b"\n") + compress.flush(zlib.Z_SYNC_FLUSH)
    yield compress.flush()
