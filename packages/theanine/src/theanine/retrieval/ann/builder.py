"""Makes and keeps the indexes of large scopes, beside everything else that goes on.

A thread loads what was kept, adds what it lacks, keeps it and hands it over; until then every
search is exact. Whatever goes wrong there costs time, never an answer.
"""

from __future__ import annotations

import logging
from threading import Event, Thread, main_thread

import anyio
from anyio import to_thread

from theanine.errors import TheanineError
from theanine.retrieval.ann.index import Stamp, StoredIndex, VectorIndex, is_available, pack
from theanine.retrieval.ann.search import ApproximateSearch, window_bounds
from theanine.store.base import Store
from theanine.store.values import ScopeVersion
from theanine.types import Scope

MAX_LAG = 20
"""An index is extended once it lacks a ``BEHIND``-th of the units; the others are looked at."""
MIN_BATCH = 10
"""Nor for less than a ``LEAST``-th of the units up to which search is exact, some seconds' work."""
GROWTH = 1.5
"""While one is made, it is kept each time that it has grown so much, to go on from there."""
CHUNK = 500
"""Units that are added at once, some 0.15 s of work: how long a stop may take."""

_log = logging.getLogger(__name__)


class IndexBuilder:
    """One for all scopes of a store and a method; makes one index at a time."""

    def __init__(self, store: Store, method: str, embedder: str) -> None:
        self._store, self._method, self._embedder = store, method, embedder
        self._job: _Job | None = None
        self._failed: set[Stamp] = set()

    def update(self, scope: Scope, state: ScopeVersion, approximate: ApproximateSearch) -> None:
        """Begin what a scope's index needs, if it needs anything and nothing is under way."""
        ranking = approximate.ranking
        n, exact_upto = len(ranking), ranking.config.exact_upto
        if n <= exact_upto:
            return
        known = approximate.index.rows if approximate.index else 0
        if known and n - known <= max(n // MAX_LAG, exact_upto // MIN_BATCH):
            return
        stamp = Stamp(
            scope_id=state.scope_id,
            epoch=state.epoch,
            method=self._method,
            embedder=self._embedder,
            windows=ranking.smoothing.settings,
        )
        if self._job is not None and self._job.under_way:
            if self._job.scope == scope and self._job.stamp != stamp:
                self._job.stop()
        elif stamp not in self._failed and is_available():
            self._job = _Job(self._store, scope, stamp, state.memories, approximate, self._failed)
            self._job.start()

    async def wait(self) -> bool:
        """Wait until what is under way is done; False when nothing is."""
        if self._job is None or not self._job.under_way:
            return False
        await to_thread.run_sync(self._job.join)
        return True

    async def close(self) -> None:
        """Stop what is under way; what there is of it is kept, unless it is little."""
        if self._job is not None:
            self._job.stop()
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._job.join)


class _Job:
    """One index on its way: as of the units that there are when it begins."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        stamp: Stamp,
        memories: int,
        approximate: ApproximateSearch,
        failed: set[Stamp],
    ) -> None:
        self.scope, self.stamp, self._memories = scope, stamp, memories
        self._store, self._approximate, self._failed = store, approximate, failed
        ranking = approximate.ranking
        self._ranking, self._mean = ranking, ranking.dense.mean
        self._vectors = ranking.vectors.values
        # The last ones' neighbours may be yet to come.
        self._last = len(self._vectors) - ranking.smoothing.reach
        self._least = ranking.config.exact_upto // MIN_BATCH  # not worth writing a file for
        self._stopped = Event()
        # Not a daemon: ended in the middle of the library's work, it could take the process along.
        self._thread = Thread(target=self._run, name="theanine-index")

    @property
    def under_way(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        try:
            self._make()
        except (TheanineError, OSError, MemoryError, RuntimeError, ValueError) as error:
            self._failed.add(self.stamp)  # not again and again
            _log.warning("search in %s stays exact: no index could be made: %s", self.scope, error)

    def _make(self) -> None:
        width = self._vectors.shape[1]
        found = StoredIndex.read(self._kept(), self.stamp, width)
        if found and found.rows > self._last:
            if anyio.run(self._store.scope_version, self.scope).memories > self._memories:
                return  # another process was faster, and this one will see more when next asked
            found = None  # a backup of the store was put back, without its index
        index = (found and found.load(self._vectors)) or self._copy() or VectorIndex(width)
        kept = index.rows
        while index.rows < self._last and self._goes_on:
            self._extend(index)
            if index.rows > GROWTH * max(kept, self._ranking.config.exact_upto):
                kept = self._keep(index)
        done = index.rows == self._last
        if main_thread().is_alive() and index.rows - kept > (0 if done else self._least):
            self._keep(index)
        if done:
            self._approximate.index = index

    @property
    def _goes_on(self) -> bool:
        return not self._stopped.is_set() and main_thread().is_alive()

    def _extend(self, index: VectorIndex) -> None:
        stop = min(index.rows + CHUNK, self._last)
        index.extend(window_bounds(self._ranking, self._mean, index.rows, stop))

    def _copy(self) -> VectorIndex | None:
        """Of the index in use, where the store keeps no files."""
        used = self._approximate.index
        return used and VectorIndex.load(used.width, used.rows, used.dump())

    def _kept(self) -> bytes | None:
        try:
            return anyio.run(self._store.read_sidecar, self.scope, self.stamp.name)
        except TheanineError as error:
            _log.warning("the index of %s could not be read: %s", self.scope, error)
            return None

    def _keep(self, index: VectorIndex) -> int:
        """Keep it as it is now, if that can be done; gives of how many units it is."""
        parts = pack(index, self.stamp, self._vectors)
        try:
            anyio.run(
                self._store.write_sidecar, self.scope, self.stamp.name, self.stamp.epoch, parts
            )
        except TheanineError as error:
            _log.warning("the index of %s could not be kept: %s", self.scope, error)
        return index.rows
