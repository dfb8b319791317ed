"""Remember the sessions that ended: lease the scope, run the method, commit in one transaction.

Resumable by construction: a session that was not committed is still pending, and the journal
replays what a model already answered.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random

import anyio

from theanine.clock import Clock, system_clock
from theanine.embeddings.base import Embedder
from theanine.errors import BadInput, LeaseLost, ModelError, NotFound
from theanine.llm.chat import Chat, ScopedChat
from theanine.methods.base import Context, Method
from theanine.retrieval.scope_index import ScopeCache
from theanine.store.base import Store
from theanine.store.processes import lease_holder
from theanine.store.values import Pending
from theanine.types import MemoryBatch, Scope, Usage

_log = logging.getLogger(__name__)

LEASE = timedelta(minutes=2)
"""How long a lease lasts; it is renewed four times as often."""
POLL = 0.1
"""Seconds between two tries for a lease that another process holds."""
QUIET = 10
"""Such tries before the wait is told of."""
ATTEMPTS = 3
"""A session that failed this often no longer holds up the ones after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberReport:
    """What became of one session.

    Attributes:
        memories, links: how many were committed.
        pairs: how many (older, newer) pairs were related.
        usage: the model calls and tokens that it took.
        notes: what its user should know, such as a step that fell back on its local version.
        failure: why it is still pending, or None.
    """

    scope: Scope
    session: int
    memories: int = 0
    links: int = 0
    pairs: int = 0
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()
    failure: str | None = None


Progress = Callable[[RememberReport], None]
"""Called after each session."""


class RememberWorker:
    """Remembers pending sessions, scope by scope, each scope's in time order."""

    def __init__(
        self,
        store: Store,
        method: Method,
        embedder: Embedder,
        chat: Chat | None,
        views: ScopeCache,
        clock: Clock,
        seed: int,
    ) -> None:
        self._store, self._method, self._embedder = store, method, embedder
        self._chat, self._views, self._clock, self._seed = chat, views, clock, seed
        self._locks: defaultdict[Scope, anyio.Lock] = defaultdict(anyio.Lock)
        self._holder = lease_holder()

    def with_method(self, method: Method, views: ScopeCache) -> RememberWorker:
        """The same for another method: in one scope, one of the two waits for the other."""
        other = copy(self)
        other._method, other._views = method, views
        return other

    async def remember(
        self, scope: Scope | None, progress: Progress | None
    ) -> list[RememberReport]:
        """Remember what is pending, of one scope or of all."""
        reports: list[RememberReport] = []
        waiting = await self._store.pending(self._method.name, scope)
        for each in dict.fromkeys(one.scope for one in waiting):
            async with self._locks[each], self._leased(each):
                # Read again under the lease: another process may have done it meanwhile.
                for one in await self._store.pending(self._method.name, each):
                    report = await self._attempt(one)
                    reports.append(report)
                    if progress:
                        progress(report)
                    if report.failure and one.attempts + 1 < ATTEMPTS:
                        break  # later sessions link to this one: they wait for it
        return reports

    @asynccontextmanager
    async def _leased(self, scope: Scope) -> AsyncGenerator[None]:
        """Hold the scope's lease, renewed in the background; wait while another process has it."""
        tries = 0
        while not await self._lease(scope):
            if not await self._store.pending(self._method.name, scope):
                break  # the other process has done it all
            tries += 1
            if tries == QUIET:
                _log.warning("somebody else is remembering %s: waiting until that is done", scope)
            await anyio.sleep(POLL)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep, scope)
                try:
                    yield
                finally:
                    tasks.cancel_scope.cancel()
                    with anyio.CancelScope(shield=True):
                        await self._store.release_lease(scope, self._holder)
        except ExceptionGroup as group:  # the caller's own error, not a group of one
            raise group.exceptions[0] from group

    # Processes agree on the system's time alone: the agent's clock may show another.

    async def _lease(self, scope: Scope) -> bool:
        now = system_clock()
        return await self._store.acquire_lease(scope, self._holder, now + LEASE, now)

    async def _keep(self, scope: Scope) -> None:
        renewed = True
        while renewed:  # once it is lost, the commit will say so
            await anyio.sleep(LEASE.total_seconds() / 4)
            renewed = await self._store.renew_lease(scope, self._holder, system_clock() + LEASE)

    async def _attempt(self, one: Pending) -> RememberReport:
        caller = self._chat.for_scope(one.scope, one.session) if self._chat else None
        done, failure = MemoryBatch(), None
        try:
            done = await self._one(one, caller)
        except (ModelError, BadInput) as error:
            failure = str(error)
            await self._store.record_failure(
                one.scope,
                one.session,
                self._method.name,
                failure,
                epoch=caller.epoch if caller else None,
            )
        except (LeaseLost, NotFound) as error:
            failure = str(error)
        return RememberReport(
            scope=one.scope,
            session=one.session,
            memories=len(done.memories),
            links=len(done.links),
            pairs=done.pairs,
            usage=caller.usage if caller else Usage(),
            notes=tuple(done.notes),
            failure=failure,
        )

    async def _one(self, one: Pending, caller: ScopedChat | None) -> MemoryBatch:
        """What was made of one session, committed; without memories where that was done before."""
        view = await self._views.get(one.scope)
        if caller:
            caller.epoch = view.state.epoch  # noted before anything is read for a prompt
        turns, given = await self._store.pending_input(one.scope, one.session, self._method.name)
        found = await self._store.sessions(one.scope, self._method.name, only=one.session)
        if not found:
            raise NotFound(f"session {one.session} was forgotten meanwhile")
        view.add_sessions(found)
        context = Context(
            scope=one.scope,
            chat=caller,
            embedder=self._embedder,
            index=view,
            rng=Random(self._seed),
        )
        made = await self._method.remember(found[0], turns, given, context)
        committed = await self._store.commit_batch(
            one.scope,
            one.session,
            self._method.name,
            made,
            embedder=self._embedder.name,
            holder=self._holder,
            at=self._clock(),
            seen=(max((turn.id for turn in turns), default=0), len(given)),
        )
        return made if committed or not made.memories else replace(made, memories=(), links=())
