"""Build and store the approximate indexes of large scopes in the background.

A thread loads the stored index, adds missing rows, stores it and hands it over. Until then every
search is exact; an error only costs speed.
"""

from __future__ import annotations

import logging
from threading import Event, Thread, main_thread

import anyio
from anyio import to_thread

from theanine.cancellation import finish
from theanine.errors import TheanineError
from theanine.retrieval.ann.index import Stamp, StoredIndex, VectorIndex, is_available, pack
from theanine.retrieval.ann.search import ApproximateSearch, smoothed_vectors
from theanine.store.base import Store
from theanine.store.values import ScopeVersion
from theanine.types import Scope

MAX_LAG = 20
"""An index is extended when it lacks a ``MAX_LAG``-th of the units; those are searched exactly."""
MIN_BATCH = 10
"""Nor is it extended by less than a ``MIN_BATCH``-th of ``exact_upto``, some seconds of work."""
GROWTH = 1.5
"""A long build stores its progress whenever the index has grown by this factor."""
CHUNK = 500
"""Units added at once, some 0.15 s of work: how long stopping can take."""

_log = logging.getLogger(__name__)


class IndexBuilder:
    """Builds the indexes of one store and method, one at a time."""

    def __init__(self, store: Store, method: str, embedder: str) -> None:
        self._store, self._method, self._embedder = store, method, embedder
        self._job: _Job | None = None
        self._failed: set[Stamp] = set()

    def update(self, scope: Scope, state: ScopeVersion, approximate: ApproximateSearch) -> None:
        """Start building or extending a scope's index if that is due and nothing else is built."""
        ranking = approximate.ranking
        n, exact_upto = len(ranking), ranking.config.exact_upto
        if n <= exact_upto:
            return
        rows = approximate.index.rows if approximate.index else 0
        if rows and n - rows <= max(n // MAX_LAG, exact_upto // MIN_BATCH):
            return
        stamp = Stamp(
            scope_id=state.scope_id,
            epoch=state.epoch,
            method=self._method,
            embedder=self._embedder,
            windows=ranking.smoothing.settings,
        )
        if self._job is not None and self._job.is_running:
            if self._job.scope == scope and self._job.stamp != stamp:
                self._job.stop()
        elif stamp not in self._failed and is_available():
            self._job = _Job(self._store, scope, stamp, state.memories, approximate, self._failed)
            self._job.start()

    async def wait(self) -> bool:
        """Wait for the current build; False if there is none."""
        if self._job is None or not self._job.is_running:
            return False
        await to_thread.run_sync(self._job.join)
        return True

    async def close(self) -> None:
        """Stop the current build; its progress is stored, unless it is small."""
        if self._job is not None:
            self._job.stop()
            await finish(to_thread.run_sync(self._job.join))


class _Job:
    """Builds one index, of the units that exist when it starts."""

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
        self._ranking = ranking = approximate.ranking
        self._mean = ranking.dense.mean
        self._vectors = ranking.vectors.values
        # The last units are left out: neighbors of theirs may be added later.
        self._target = len(self._vectors) - ranking.smoothing.reach
        self._stop_requested = Event()
        # Not a daemon: killed inside the library's native code, it could crash the process.
        self._thread = Thread(target=self._run, name="theanine-index")

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop_requested.set()

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        try:
            self._build()
        except (TheanineError, OSError, MemoryError, RuntimeError, ValueError) as error:
            self._failed.add(self.stamp)  # so that it is not tried again and again
            _log.warning(
                "search in %s stays exact: building an index failed: %s", self.scope, error
            )

    def _build(self) -> None:
        width, exact_upto = self._vectors.shape[1], self._ranking.config.exact_upto
        stored = StoredIndex.read(self._read_file(), self.stamp, width)
        if stored and stored.rows > self._target:
            if anyio.run(self._store.scope_version, self.scope).memories > self._memories:
                return  # another process has seen more memories; this one will with its next read
            stored = None  # the store was restored from a backup, without its index
        index = stored and stored.load(self._vectors)
        if index is None and (current := self._approximate.index):  # if the store keeps no files
            index = VectorIndex.load(current.width, current.rows, current.dump())
        index = index or VectorIndex(width)
        stored_rows = index.rows
        while index.rows < self._target and self._may_continue:
            chunk = slice(index.rows, min(index.rows + CHUNK, self._target))
            index.extend(smoothed_vectors(self._ranking, self._mean, chunk.start, chunk.stop))
            if index.rows > GROWTH * max(stored_rows, exact_upto):
                self._write_file(index)
                stored_rows = index.rows
        complete = index.rows == self._target
        worth_storing = 0 if complete else exact_upto // MIN_BATCH
        if main_thread().is_alive() and index.rows - stored_rows > worth_storing:
            self._write_file(index)
        if complete:
            self._approximate.index = index

    @property
    def _may_continue(self) -> bool:
        return not self._stop_requested.is_set() and main_thread().is_alive()

    def _read_file(self) -> bytes | None:
        try:
            return anyio.run(self._store.read_sidecar, self.scope, self.stamp.name)
        except TheanineError as error:
            _log.warning("the index of %s could not be read: %s", self.scope, error)
            return None

    def _write_file(self, index: VectorIndex) -> None:
        parts = pack(index, self.stamp, self._vectors)
        try:
            anyio.run(
                self._store.write_sidecar, self.scope, self.stamp.name, self.stamp.epoch, parts
            )
        except TheanineError as error:
            _log.warning("the index of %s could not be stored: %s", self.scope, error)
