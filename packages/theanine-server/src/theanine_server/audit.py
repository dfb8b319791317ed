"""Writing the audit log: in batches, but erasures before they are answered."""

from __future__ import annotations

import logging
from collections import deque
from datetime import timedelta

import anyio

from theanine.clock import Clock
from theanine.errors import StoreError
from theanine.store.sql.audit import (
    Action,
    AuditEntry,
    Pseudonyms,
    add_entries,
    delete_entries,
    entry_id,
)
from theanine.store.sql.store import SqlStore
from theanine_server.context import RequestContext
from theanine_server.metrics import AUDIT_DROPPED

_log = logging.getLogger(__name__)

PAUSE = 1.0
"""Seconds between two batches."""
PURGE = timedelta(hours=1)
"""Time between two deletions of old entries."""
_FORGETTING = ("/forgetting", "/forgetting/{operation}/confirm")
"""Ends of the paths whose POST requests erase something, now or after a pause."""
MAX_WAITING = 100_000
"""Maximum entries that wait while the store can't be reached; the oldest are dropped."""


class AuditLog:
    """Collects the entries of one process and stores them.

    Args:
        kept: how long entries are kept; None for no log at all.
    """

    def __init__(
        self, store: SqlStore, clock: Clock, kept: timedelta | None, pseudonyms: Pseudonyms
    ) -> None:
        self._store, self._clock, self._kept = store, clock, kept
        self._pseudonyms = pseudonyms
        self._waiting: deque[AuditEntry] = deque()
        self._lock = anyio.Lock()
        self._purged = clock() - PURGE
        self._running = anyio.CancelScope()

    async def add(self, request: RequestContext, status: int) -> bool:
        """Add a request; return False if it concerns no stored data, so far.

        That of an erasure is stored when this returns, if the store can be reached.
        """
        principal, scope = request.principal, request.scope
        if self._kept is None or principal is None or not (request.right or scope):
            return False
        at = self._clock()
        entry = AuditEntry(
            id=entry_id(at),
            at=at,
            tenant=principal.tenant,
            key=principal.key,
            user=self._pseudonyms.get(scope.tenant, scope.user) if scope else None,
            agent=scope.agent if scope else None,
            action=_action(request),
            request=f"{request.method} {request.route}",
            status=status,
            request_id=request.id,
        )
        self._waiting.append(entry)
        if len(self._waiting) > MAX_WAITING:
            self._waiting.popleft()
            AUDIT_DROPPED.inc()
        if entry.action == "erase":
            await self.flush()
        return True

    async def run(self) -> None:
        """Store entries from time to time, and delete old ones, until :meth:`close`."""
        with self._running:
            while True:
                await anyio.sleep(PAUSE)
                await self.flush()
                await self._purge()

    async def close(self) -> None:
        """Store the waiting entries before the process ends."""
        self._running.cancel()
        await self.flush()

    async def flush(self) -> None:
        """Store the waiting entries; those that can't be stored now are kept for the next time."""
        async with self._lock:
            batch = [*self._waiting]
            if not batch:
                return
            self._waiting.clear()
            try:
                await self._store.write_concurrently(True, add_entries, batch)
            except StoreError as error:
                self._waiting.extendleft(reversed(batch))
                _log.error("the audit log can't be written: %s", error)

    async def _purge(self) -> None:
        now = self._clock()
        if self._kept is None or now - self._purged < PURGE:
            return
        self._purged = now
        try:
            await self._store.write_concurrently(True, delete_entries, now - self._kept)
        except StoreError as error:  # in an hour again
            _log.warning("old entries of the audit log can't be deleted: %s", error)


def _action(request: RequestContext) -> Action:
    if request.erases:
        return "erase"
    if request.method == "GET" or request.right == "read":
        return "read"
    path = request.route
    if request.method == "DELETE":
        return "erase" if "/{user}" in path and not path.endswith("/pin") else "change"
    return "erase" if path.endswith(_FORGETTING) else "change"
