"""Remember ended sessions: lease the scope, run the method, commit in one transaction.

This can stop anywhere: a session that was not committed is still pending, and the journal replays
the replies that a model has already given.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random
from weakref import WeakValueDictionary

import anyio
import numpy as np

from theanine.cancellation import finish
from theanine.clock import Clock
from theanine.embeddings.base import Embedder
from theanine.errors import (
    BadInput,
    DamagedData,
    EmbedderMismatch,
    LeaseLost,
    ModelError,
    ModelUnavailable,
    NotFound,
    StoreError,
    TheanineError,
)
from theanine.llm.chat import Chat, ScopedChat
from theanine.methods.base import Context, Method, remembered_turns, stored_id
from theanine.remembering.report import LEASE, GoesOn, Progress, RememberReport
from theanine.retrieval.scope_cache import ScopeCache
from theanine.store.base import Store
from theanine.store.processes import lease_holder
from theanine.store.values import Pending
from theanine.telemetry import RECORDS, memory_operation
from theanine.types import MemoryBatch, Scope, Session, Usage

_log = logging.getLogger(__name__)

POLL = 0.1
"""Seconds between attempts to get a lease that another process holds."""
ATTEMPTS_BEFORE_NOTICE = 10
"""Failed attempts to get a lease before the wait is logged."""
SESSIONS_READ_AT_ONCE = 100
HOLDING_ATTEMPTS = 3
"""A session that failed this often no longer holds up later sessions."""
MAX_ATTEMPTS = 6
"""A session that failed this often is set aside: no worker tries it again."""
FIRST_WAIT = timedelta(minutes=1)
"""How long workers wait after the first failure of a session."""
WAIT_FACTOR = 4
"""How much longer they wait after each further one; five waits add up to 5.7 hours."""
MAX_TAKEOVERS = 3
"""How often a scope's lease may be lost, such as by forgetting, before that is a failure."""


@dataclass(slots=True)
class _Lease:
    """A lease that this process has taken, and the attempt that ends when it is lost."""

    number: int
    lasting: timedelta
    lost: bool = False
    attempt: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def lose(self) -> None:
        """Stop what can no longer be committed."""
        self.lost = True
        self.attempt.cancel()


class RememberWorker:
    """Remembers pending sessions scope by scope, in each scope in time order."""

    def __init__(
        self,
        store: Store,
        method: Method,
        embedder: Embedder,
        chat: Chat | None,
        indexes: ScopeCache,
        clock: Clock,
        seed: int,
    ) -> None:
        self._store, self._method, self._embedder = store, method, embedder
        self._chat, self._indexes, self._clock, self._seed = chat, indexes, clock, seed
        self._locks = WeakValueDictionary[Scope, anyio.Lock]()
        self._holder = lease_holder()

    def with_method(self, method: Method, indexes: ScopeCache, chat: Chat | None) -> RememberWorker:
        """Return a worker for another method that shares this one's locks and lease holder."""
        other = copy(self)
        other._method, other._indexes, other._chat = method, indexes, chat
        return other

    async def remember(
        self, scope: Scope | None, progress: Progress | None
    ) -> list[RememberReport]:
        """Remember the pending sessions of one scope, or of all."""
        reports: list[RememberReport] = []

        def report(each: RememberReport) -> None:
            reports.append(each)
            if progress:
                progress(each)

        pending = await self._store.pending(stored_id(self._method), scope)
        for owner in dict.fromkeys(session.scope for session in pending):
            try:
                async with self._lock(owner):
                    await self._remember_scope(owner, report)
            except DamagedData as error:
                first = next(each.session for each in pending if each.scope == owner)
                report(RememberReport(scope=owner, session=first, failure=str(error), damaged=True))
        return reports

    def _lock(self, scope: Scope) -> anyio.Lock:
        """Return the lock that admits one task of this process; it lives while one has it."""
        return self._locks.setdefault(scope, anyio.Lock())

    async def _remember_scope(self, scope: Scope, report: Progress) -> None:
        """Remember what is pending in a scope, waiting for another holder of its lease."""
        for takeovers in range(1, MAX_TAKEOVERS + 1):
            async with self._leased(scope, LEASE, patient=True) as lease:
                if lease is None:
                    return
                # Read under the lease: another process may have remembered some of them.
                pending = await self._store.pending(stored_id(self._method), scope)
                sessions: dict[int, Session] = {}
                for position, waiting in enumerate(pending):
                    if position % SESSIONS_READ_AT_ONCE == 0:
                        sessions = await self._read_sessions(scope, pending[position:])
                    read = sessions.get(waiting.session)
                    attempted = await self._attempt(waiting, read, lease)
                    if lease.lost and takeovers < MAX_TAKEOVERS:
                        break  # and begin again with what is still pending
                    report(attempted)
                    if lease.lost or (attempted.failure and _holds_up(waiting)):
                        return  # later sessions link to this one's memories
                else:
                    return

    async def remember_due(
        self, scope: Scope, progress: Progress, goes_on: GoesOn, lasting: timedelta
    ) -> list[RememberReport]:
        """Remember what is due in a scope, as long as ``goes_on`` after each session, for a worker.

        The lease lasts for ``lasting`` after this process is gone. Nothing is done if another
        process has it. Whatever a session fails by is in its report, except a mismatch of the
        embedder, by which all would fail, and a failing store.
        """
        reports: list[RememberReport] = []
        async with self._lock(scope), self._leased(scope, lasting, patient=False) as lease:
            if lease is None:
                return reports
            pending = await self._store.pending(
                stored_id(self._method), scope, set_aside=False, limit=SESSIONS_READ_AT_ONCE
            )
            sessions = await self._read_sessions(scope, pending)
            for waiting in pending:
                if not waiting.due and _holds_up(waiting, waiting.attempts):
                    break
                if waiting.due:
                    read = sessions.get(waiting.session)
                    report = await self._attempt(waiting, read, lease, contain=True)
                    reports.append(report)
                    progress(report)
                    failed = report.failure and _holds_up(waiting)
                    if lease.lost or failed or not goes_on(reports):
                        break
        return reports

    @asynccontextmanager
    async def _leased(
        self, scope: Scope, lasting: timedelta, *, patient: bool
    ) -> AsyncGenerator[_Lease | None]:
        """Hold the scope's lease, renewed in the background.

        If another process holds it: wait for that if ``patient``, and yield None when it has left
        nothing pending, or at once.
        """
        attempts = 0
        acquire = self._store.acquire_lease
        while (number := await acquire(scope, self._holder, lasting)) is None:
            if not patient or not await self._store.pending(stored_id(self._method), scope):
                yield None
                return
            attempts += 1
            if attempts == ATTEMPTS_BEFORE_NOTICE:
                _log.warning("another process is remembering %s: waiting for it", scope)
            await anyio.sleep(POLL)
        lease = _Lease(number, lasting)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._renew, scope, lease)
                try:
                    yield lease
                finally:
                    tasks.cancel_scope.cancel()
                    await finish(self._store.release_lease(scope, number))
        except ExceptionGroup as group:  # raise the error itself, not a group of one
            raise group.exceptions[0] from group

    async def _renew(self, scope: Scope, lease: _Lease) -> None:
        while not lease.lost:
            await anyio.sleep(lease.lasting.total_seconds() / 4)
            try:
                held = await self._store.renew_lease(scope, lease.number, lease.lasting)
            except StoreError as error:  # the next one may succeed, or else the lease expires
                _log.warning("could not renew the lease of %s: %s", scope, error)
            else:
                if not held:
                    lease.lose()

    async def _read_sessions(self, scope: Scope, pending: Sequence[Pending]) -> dict[int, Session]:
        """Return the first of the pending sessions by number."""
        numbers = [waiting.session for waiting in pending[:SESSIONS_READ_AT_ONCE]]
        sessions = await self._store.sessions(scope, stored_id(self._method), ids=numbers)
        return {session.id: session for session in sessions}

    async def _attempt(
        self, pending: Pending, read: Session | None, lease: _Lease, *, contain: bool = False
    ) -> RememberReport:
        """Remember one session; a failure is recorded and reported.

        Errors that are no failure of a model or a session are raised, unless ``contain``.
        """
        scope, session, started = pending.scope, pending.session, anyio.current_time()
        chat = self._chat.for_scope(scope, session) if self._chat else None
        batch, error, attempts = MemoryBatch(), None, pending.attempts
        contained = (Exception,) if contain else (ModelError, BadInput)
        try:
            if read is None:
                raise NotFound(f"session {session} was forgotten in the meantime")
            operation = memory_operation("upsert_memory", scope.agent, scope.tenant)
            with lease.attempt, operation as span:
                batch = await self._remember(scope, read, chat, lease)
                span.attributes[RECORDS] = len(batch.memories)
            if lease.lost:
                raise LeaseLost(f"another process took session {session} over, or cancelled it")
        except LeaseLost as lost:
            error, batch = lost, MemoryBatch()
            lease.lose()
        except NotFound as missing:
            error = missing
        except EmbedderMismatch:
            raise
        except contained as failed:
            error, attempts = failed, attempts + 1
            if not isinstance(failed, TheanineError):
                _log.exception("session %d of %s failed", session, scope)
            try:
                await self._record_failure(pending, _describe(failed), failed, chat, lease)
            except LeaseLost as lost:
                error, attempts = lost, pending.attempts
                lease.lose()
        lease.attempt = anyio.CancelScope()
        seconds = anyio.current_time() - started
        _log.info(
            "%s: session %d %s memories=%d links=%d seconds=%.2f",
            scope,
            session,
            "could not be remembered" if error else "remembered",
            len(batch.memories),
            len(batch.links),
            seconds,
        )
        return RememberReport(
            scope=scope,
            session=session,
            memories=len(batch.memories),
            links=len(batch.links),
            pairs=batch.pairs,
            usage=chat.usage if chat else Usage(),
            notes=tuple(batch.notes),
            failure=_describe(error) if error else None,
            error=type(error).__name__ if error else "",
            attempts=attempts,
            set_aside=attempts > pending.attempts and attempts >= MAX_ATTEMPTS,
            seconds=seconds,
        )

    async def _record_failure(
        self,
        pending: Pending,
        reason: str,
        error: Exception,
        chat: ScopedChat | None,
        lease: _Lease,
    ) -> None:
        """Record a failure, and when workers try again: each time later, or never again."""
        wait = FIRST_WAIT * WAIT_FACTOR**pending.attempts
        if isinstance(error, ModelUnavailable) and error.retry_after:
            wait = max(wait, timedelta(seconds=error.retry_after))
        await self._store.record_failure(
            pending.scope,
            pending.session,
            pending.method,
            reason,
            lease=lease.number,
            retry_in=wait if pending.attempts + 1 < MAX_ATTEMPTS else None,
            holds_up=_holds_up(pending),
            epoch=chat.epoch if chat else None,
        )

    async def _remember(
        self, scope: Scope, session: Session, chat: ScopedChat | None, lease: _Lease
    ) -> MemoryBatch:
        """Run the method and commit; without memories if another process committed before."""
        method = stored_id(self._method)
        index = await self._indexes.get(scope)
        if chat:
            chat.epoch = index.state.epoch  # before anything is read for a prompt
        turns, imported = await self._store.pending_input(scope, session.id, method)
        index.add_sessions([session])
        context = Context(
            scope=scope, chat=chat, embedder=self._embedder, index=index, rng=Random(self._seed)
        )
        remembered = remembered_turns(self._method, turns)
        batch = MemoryBatch()
        if remembered or imported:
            batch = await self._method.remember(session, remembered, imported, context)
        committed = await self._store.commit_batch(
            scope,
            session.id,
            method,
            batch,
            embedder=self._embedder.name,
            lease=lease.number,
            at=self._clock(),
            seen=(max((turn.id for turn in turns), default=0), len(imported)),
        )
        if batch.memories and not committed:
            return replace(batch, memories=(), links=())
        if committed:
            index.add_committed(committed, np.asarray(batch.vectors), batch.links)
        return batch


def _holds_up(pending: Pending, attempts: int | None = None) -> bool:
    """Return whether later sessions wait for one, after so many or, with None, one more failure."""
    return (pending.attempts + 1 if attempts is None else attempts) < HOLDING_ATTEMPTS


def _describe(error: Exception) -> str:
    """Return the reason of a failure; errors of other code need their type to be understood."""
    return str(error) if isinstance(error, TheanineError) else f"{type(error).__name__}: {error}"
