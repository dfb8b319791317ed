"""Remember ended sessions: lease the scope, run the method, commit in one transaction.

This can stop anywhere: a session that was not committed is still pending, and the journal replays
the replies that a model has already given.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random

import anyio
import numpy as np

from theanine.cancellation import finish
from theanine.clock import Clock, system_clock
from theanine.embeddings.base import Embedder
from theanine.errors import BadInput, DamagedData, LeaseLost, ModelError, NotFound
from theanine.llm.chat import Chat, ScopedChat
from theanine.methods.base import Context, Method, remembered_turns
from theanine.retrieval.scope_cache import ScopeCache
from theanine.store.base import Store
from theanine.store.processes import lease_holder
from theanine.store.values import Pending
from theanine.types import MemoryBatch, Scope, Session, Usage

_log = logging.getLogger(__name__)

LEASE = timedelta(minutes=2)
"""How long a lease lasts; it is renewed four times in that time."""
POLL = 0.1
"""Seconds between attempts to get a lease that another process holds."""
ATTEMPTS_BEFORE_NOTICE = 10
"""Failed attempts to get a lease before the wait is logged."""
SESSIONS_READ_AT_ONCE = 100
MAX_ATTEMPTS = 3
"""A session that failed this often no longer holds up later sessions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberReport:
    """The result of remembering one session.

    Attributes:
        session: its number; 0 if the data of the user is damaged, and not by one session.
        memories, links: how many were committed.
        pairs: how many (older, newer) pairs were compared for a relation.
        usage: model calls and tokens.
        notes: messages for the user, such as a step that fell back to its local version, or a reply
            that was cut off.
        failure: why the session is still pending, or None.
        damaged: whether that is because stored data can't be read.
    """

    scope: Scope
    session: int
    memories: int = 0
    links: int = 0
    pairs: int = 0
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()
    failure: str | None = None
    damaged: bool = False

    def __str__(self) -> str:
        result = self.failure or f"memories={self.memories} links={self.links}"
        session = f", session {self.session}" if self.session else ""
        return f"{self.scope}{session}: {result}"


Progress = Callable[[RememberReport], None]
"""Called after each session."""


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
        self._locks: defaultdict[Scope, anyio.Lock] = defaultdict(anyio.Lock)
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

        pending = await self._store.pending(self._method.name, scope)
        for owner in dict.fromkeys(session.scope for session in pending):
            try:
                async with self._locks[owner], self._leased(owner):
                    await self._remember_scope(owner, report)
            except DamagedData as error:
                first = next(each.session for each in pending if each.scope == owner)
                report(RememberReport(scope=owner, session=first, failure=str(error), damaged=True))
        return reports

    async def _remember_scope(self, owner: Scope, report: Callable[[RememberReport], None]) -> None:
        """Remember what is pending in a scope whose lease is held."""
        # Read again under the lease: another process may have remembered some of them.
        pending = await self._store.pending(self._method.name, owner)
        sessions: dict[int, Session] = {}
        for position, waiting in enumerate(pending):
            if position % SESSIONS_READ_AT_ONCE == 0:
                sessions = await self._read_sessions(owner, pending[position:])
            attempted = await self._attempt(waiting, sessions.get(waiting.session))
            report(attempted)
            if attempted.failure and waiting.attempts + 1 < MAX_ATTEMPTS:
                break  # later sessions link to this one's memories

    @asynccontextmanager
    async def _leased(self, scope: Scope) -> AsyncGenerator[None]:
        """Hold the scope's lease, renewed in the background. Waits for another holder.

        Also entered without the lease when the other holder has left nothing pending.
        """
        attempts = 0
        while not await self._lease(scope):
            if not await self._store.pending(self._method.name, scope):
                break
            attempts += 1
            if attempts == ATTEMPTS_BEFORE_NOTICE:
                _log.warning("another process is remembering %s: waiting for it", scope)
            await anyio.sleep(POLL)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._renew, scope)
                try:
                    yield
                finally:
                    tasks.cancel_scope.cancel()
                    await finish(self._store.release_lease(scope, self._holder))
        except ExceptionGroup as group:  # raise the error itself, not a group of one
            raise group.exceptions[0] from group

    # Leases use the system's clock, which processes share; the client's may show another time.

    async def _lease(self, scope: Scope) -> bool:
        now = system_clock()
        return await self._store.acquire_lease(scope, self._holder, now + LEASE, now)

    async def _renew(self, scope: Scope) -> None:
        held = True
        while held:  # when the lease is lost, the commit raises LeaseLost
            await anyio.sleep(LEASE.total_seconds() / 4)
            held = await self._store.renew_lease(scope, self._holder, system_clock() + LEASE)

    async def _read_sessions(self, scope: Scope, pending: Sequence[Pending]) -> dict[int, Session]:
        """Return the first of the pending sessions by number."""
        numbers = [waiting.session for waiting in pending[:SESSIONS_READ_AT_ONCE]]
        sessions = await self._store.sessions(scope, self._method.name, ids=numbers)
        return {session.id: session for session in sessions}

    async def _attempt(self, pending: Pending, read: Session | None) -> RememberReport:
        """Remember one session; a failure is recorded and reported."""
        scope, session, started = pending.scope, pending.session, anyio.current_time()
        chat = self._chat.for_scope(scope, session) if self._chat else None
        batch, failure = MemoryBatch(), None
        try:
            if read is None:
                raise NotFound(f"session {session} was forgotten in the meantime")
            batch = await self._remember(scope, read, chat)
        except (ModelError, BadInput) as error:
            failure = str(error)
            epoch = chat.epoch if chat else None
            await self._store.record_failure(
                scope, session, self._method.name, failure, epoch=epoch
            )
        except (LeaseLost, NotFound) as error:
            failure = str(error)
        _log.info(
            "%s: session %d %s memories=%d links=%d seconds=%.2f",
            scope,
            session,
            "could not be remembered" if failure else "remembered",
            len(batch.memories),
            len(batch.links),
            anyio.current_time() - started,
        )
        return RememberReport(
            scope=scope,
            session=session,
            memories=len(batch.memories),
            links=len(batch.links),
            pairs=batch.pairs,
            usage=chat.usage if chat else Usage(),
            notes=(*batch.notes, *_truncation_notes(chat)),
            failure=failure,
        )

    async def _remember(
        self, scope: Scope, session: Session, chat: ScopedChat | None
    ) -> MemoryBatch:
        """Run the method and commit; without memories if another process committed before."""
        method = self._method.name
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
            holder=self._holder,
            at=self._clock(),
            seen=(max((turn.id for turn in turns), default=0), len(imported)),
        )
        if batch.memories and not committed:
            return replace(batch, memories=(), links=())
        if committed:
            index.add_committed(committed, np.asarray(batch.vectors), batch.links)
        return batch


def _truncation_notes(chat: ScopedChat | None) -> tuple[str, ...]:
    """Return the note that something may be missing, if replies were cut off."""
    cut = chat.usage.truncated if chat else 0
    if not cut:
        return ()
    replies = "1 reply was" if cut == 1 else f"{cut} replies were"
    return (f"{replies} cut off at the bound of tokens: raise it with max_tokens",)
