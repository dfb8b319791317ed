"""The indexes of the scopes that were used last."""

from __future__ import annotations

from collections import OrderedDict

from theanine.embeddings.base import Embedder
from theanine.errors import EmbedderMismatch
from theanine.retrieval.ranking import RankingConfig
from theanine.retrieval.scope_index import ScopeIndex
from theanine.retrieval.snapshot import SnapshotWriter
from theanine.store.base import Store
from theanine.store.values import ScopeVersion
from theanine.types import Scope

DEFAULT_CAPACITY = 250_000
"""Total size of all cached indexes, in memories, above which the least recently used is dropped."""
READ_ENTRIES = 20_000
"""Turns, memories and links of all scopes that stay in main memory after use: 20 MB."""


class ScopeCache:
    """The indexes of many scopes; drops the least recently used ones above ``capacity``.

    Args:
        capacity: total size of the indexes, in memories.
    """

    def __init__(
        self,
        store: Store,
        method: str,
        embedder: str,
        ranking: RankingConfig | None = None,
        *,
        capacity: int = DEFAULT_CAPACITY,
    ) -> None:
        self._store, self._method, self._embedder = store, method, embedder
        self._ranking, self._capacity = ranking, capacity
        self._indexes: OrderedDict[Scope, ScopeIndex] = OrderedDict()
        self._sizes: dict[Scope, int] = {}
        self._total_size = 0
        self._read_entries: OrderedDict[Scope, int] = OrderedDict()
        self._total_read = 0
        self._snapshots = SnapshotWriter(store)

    def __contains__(self, scope: Scope) -> bool:
        """Whether the index of a scope is cached, up to date or not."""
        return scope in self._indexes

    def with_method(self, method: str) -> ScopeCache:
        """Return a cache of the memories of another method, in the same store."""
        return ScopeCache(self._store, method, self._embedder, self._ranking)

    async def get(self, scope: Scope, *, memories: bool = True) -> ScopeIndex:
        """Return the up-to-date index of a scope; one cheap read if nothing has changed.

        Without ``memories`` none are read: only its log can be searched.

        Raises EmbedderMismatch when the store's vectors are another embedder's.
        """
        state = await self._store.scope_version(scope)
        if state.embedder not in ("", self._embedder):
            raise EmbedderMismatch(
                f"the store's vectors were made by {state.embedder}, not by {self._embedder}: "
                "open it with that embedder, or run `theanine reembed`"
            )
        index = self._indexes.get(scope)
        if index is None or _identity(index.state) != _identity(state):
            if index is not None:
                index.cancel_reading()
            index = ScopeIndex(
                self._store,
                scope,
                self._method,
                state,
                self._ranking,
                self._snapshots,
                on_growth=self._measure,
            )
        if memories and not index.has_read(state):
            await index.extend(state)
        await index.read_marks(state)
        index.state = state
        self._indexes[scope] = index
        self._indexes.move_to_end(scope)
        self._measure(index)
        return index

    def _measure(self, index: ScopeIndex) -> None:
        """Count what an index has grown by, and drop the least recently used ones if need be."""
        scope = index.scope
        if self._indexes.get(scope) is not index:  # it was dropped while it was used
            return
        self._total_size += index.size - self._sizes.get(scope, 0)
        self._sizes[scope] = index.size
        while self._total_size > self._capacity and len(self._indexes) > 1:
            dropped, unused = self._indexes.popitem(last=False)
            unused.cancel_reading()
            self._total_size -= self._sizes.pop(dropped)
            self._total_read -= self._read_entries.pop(dropped)
        self._total_read += index.read_entries - self._read_entries.get(scope, 0)
        self._read_entries[scope] = index.read_entries
        self._read_entries.move_to_end(scope)
        while self._total_read > READ_ENTRIES:
            dropped, entries = self._read_entries.popitem(last=False)
            self._total_read -= entries
            self._indexes[dropped].drop_read()
            self._read_entries[dropped] = 0

    async def store_log(self, scope: Scope, embedder: Embedder, *, wait: bool = True) -> None:
        """Bring the index of a scope's log up to date, also the stored one, if there is one.

        Unless ``wait``, only what makes the log searchable while its vectors are made.
        """
        index = await self.get(scope, memories=False)
        await (index.log(embedder) if wait else index.prepare_log(embedder))
        await self.stored()

    async def stored(self) -> None:
        """Wait until what was indexed is stored."""
        await self._snapshots.wait()

    async def close(self) -> None:
        """Stop what is being read, and wait for what is being stored."""
        for index in self._indexes.values():
            await index.stop_reading()
        await self._snapshots.wait()


def _identity(state: ScopeVersion) -> tuple[int, int, str]:
    """Return what must not change for an index to be extended."""
    return (state.scope_id, state.epoch, state.embedder)
