"""Workers: any number of processes that remember what waits in one store, of all its users.

Each polls the database, where leases keep them apart, and looks at once when a server notifies it;
nothing else connects them. They walk through the users in a circle and remember a few sessions of
each, so that nobody waits for a user who has thousands.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial
from math import inf
from random import Random
from typing import cast

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream

from theanine.client.arguments import check_arguments
from theanine.client.engine import Engine
from theanine.errors import EmbedderMismatch, SettingsError, StoreError, TheanineError
from theanine.remembering.expire import forget_expired
from theanine.remembering.left_out import for_each_scope
from theanine.remembering.report import Progress, RememberReport
from theanine.types import Scope

_log = logging.getLogger(__name__)

POLL = 5.0
"""Seconds between checks of the database while nothing waits."""
CONCURRENCY = 4
"""Maximum users that one worker remembers at once."""
MIN_LEASE = 1.0
"""Seconds that a lease lasts at least; it is renewed four times in its time."""
GRACE = 20.0
"""Seconds that sessions in progress get after a stop."""
SESSIONS_AT_A_VISIT = 8
"""Sessions of one user that are remembered before it is the next user's turn."""
_PAGE = 64  # users that are looked up at once, at least
_LISTENING = 60.0  # seconds until a connection that was lost is opened again, at most
_SPREAD = 0.2  # seconds, at most, after which each worker follows a notification to all
_JITTER = 0.25  # by how much of its time each wait varies, so that workers don't poll in step
_ENDING = timedelta(seconds=15)  # between looks for sessions that have paused or were left open
_EXPIRY = timedelta(minutes=10)  # between searches for what has expired, of all workers together
_SURVEY = timedelta(minutes=10)  # between searches for sessions that were ended for other methods


@check_arguments
class AsyncWorker:
    """Remembers what waits in the store, until it is stopped. Made by ``client.worker``.

    It also ends sessions that have paused or whose process is gone, forgets what has expired, as
    ``remember`` does, and erases what was hidden for a pause. The clock is the database's.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        poll: float,
        concurrency: int,
        lease: float,
        grace: float,
        progress: Progress | None,
    ) -> None:
        if not (poll > 0 and concurrency >= 1 and MIN_LEASE <= lease < inf and 0 <= grace < inf):
            raise SettingsError(
                f"poll must be above 0 seconds, concurrency at least 1, lease at least "
                f"{MIN_LEASE:g} s, and grace not negative"
            )
        self._engine, self._poll, self._concurrency, self._grace = engine, poll, concurrency, grace
        self._progress = progress or _ignore
        self._lease = timedelta(seconds=lease)
        self._random = Random()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_asked = False
        self._failure = ""
        self._stopping = anyio.Event()
        self._visited = anyio.Event()  # a visit has ended
        self._changed = anyio.Event()  # one in which something was due, or a stop was asked for
        self._attempted = 0
        self._visiting: set[Scope] = set()

    async def run(self, *, once: bool = False) -> None:
        """Work until :meth:`stop` or, with ``once``, until nothing is due. It runs one time.

        When it is cancelled, it releases its leases; the next worker goes on, and pays for no reply
        of a model twice. What fails is in the reports, and tried again later. Raises
        EmbedderMismatch if another embedder made the store's vectors.
        """
        self._loop = asyncio.get_running_loop()
        if self._stop_asked:
            self._set_stopping()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._end_in_time, tasks.cancel_scope)
                if not once:
                    tasks.start_soon(self._listen)
                await self._work(once)
                tasks.cancel_scope.cancel()
        except ExceptionGroup as group:
            raise _first_error(group) from group

    def stop(self) -> None:
        """Have :meth:`run` return: sessions in progress are finished within the grace, or released.

        May be called in any thread, and in a signal handler.
        """
        self._stop_asked = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._set_stopping)

    def responds(self, within: float = 5.0) -> bool:
        """Return whether the event loop answers within some seconds, or has not begun.

        May be called in any thread but that of the loop.
        """
        if self._loop is None or self._loop.is_closed():
            return True
        answered = threading.Event()
        self._loop.call_soon_threadsafe(answered.set)
        return answered.wait(within)

    @property
    def problem(self) -> str:
        """Why nothing is remembered now, such as an error of the store; empty if all is well.

        May be read in any thread.
        """
        if self._loop is None:
            return "starting"
        return "stopping" if self._stop_asked else self._failure

    def _set_stopping(self) -> None:
        self._stopping.set()
        self._changed.set()

    # tasks

    async def _end_sessions(self) -> None:
        await self._engine.end_abandoned_sessions(None, at=await self._engine.store.now())

    async def _expire(self) -> None:
        store = self._engine.store
        if await store.claim_task("expire", _EXPIRY):
            now = await store.now()
            await for_each_scope(
                store, None, lambda each: forget_expired(store, each, now, rounded=True)
            )

    async def _erase(self) -> None:
        for receipt in await self._engine.store.erase_due():
            _log.info("%s", receipt)

    async def _survey(self) -> None:
        """Mark sessions that were ended for other methods only as pending for this one, too."""
        store, method, after = self._engine.store, self._engine.stored_method, -1
        if not await store.claim_task(f"survey:{method}", _SURVEY):
            return
        while after and not self._stopping.is_set():
            scopes, after = await store.unmarked_scopes(method, after=max(after, 0), limit=_PAGE)
            for scope in scopes:
                await store.mark_pending(scope, method)

    async def _work(self, once: bool) -> None:
        """Remember due sessions of all users in rounds, until stopped or ``once`` done."""
        send, receive = anyio.create_memory_object_stream[Scope](0)
        async with receive, anyio.create_task_group() as tasks:
            for _ in range(self._concurrency):
                tasks.start_soon(self._visit_each, receive)
            async with send:  # its end is the visitors' end
                for task, pause in (
                    (self._erase, timedelta(seconds=self._poll)),
                    (self._end_sessions, _ENDING),
                    (self._expire, _EXPIRY),
                    (self._survey, _SURVEY),
                ):
                    if once:
                        await self._try(task)
                    else:
                        tasks.start_soon(self._repeat, task, pause)
                while not self._stopping.is_set():
                    self._changed, attempted = anyio.Event(), self._attempted
                    await self._try(partial(self._send_due, send))
                    while once and self._visiting:
                        self._visited = anyio.Event()
                        await self._visited.wait()
                    if once and self._attempted == attempted:
                        break
                    if not once:
                        await self._pause(self._poll, self._changed)

    async def _send_due(self, visitors: ObjectSendStream[Scope]) -> None:
        """Hand each user with due sessions to the next free task."""
        store, method, after = self._engine.store, self._engine.stored_method, -1
        limit = max(_PAGE, 2 * self._concurrency)
        while after:
            scopes, after = await store.due_scopes(method, after=max(after, 0), limit=limit)
            self._random.shuffle(scopes)  # so that workers meet less often
            for scope in scopes:
                if self._stopping.is_set():
                    return
                if scope not in self._visiting:
                    self._visiting.add(scope)
                    await visitors.send(scope)

    async def _visit_each(self, scopes: ObjectReceiveStream[Scope]) -> None:
        async for scope in scopes:
            try:
                if not self._stopping.is_set():
                    await self._visit(scope)
            finally:
                self._visiting.discard(scope)
                self._visited.set()

    async def _visit(self, scope: Scope) -> None:
        try:
            reports = await self._engine.remember_due(
                scope, self._progress, self._goes_on, self._lease
            )
        except EmbedderMismatch:
            raise
        except TheanineError as error:
            _log.warning("%s is remembered later: %s", scope, error)
        except Exception:  # noqa: BLE001  # of other code, such as a callback: the next user goes on
            _log.exception("%s is remembered later", scope)
        else:
            self._attempted += len(reports)
            if reports:
                self._changed.set()

    def _goes_on(self, reports: Sequence[RememberReport]) -> bool:
        """Return whether to remember another session of a user after these."""
        return len(reports) < SESSIONS_AT_A_VISIT and not self._stop_asked

    # waiting

    async def _end_in_time(self, scope: anyio.CancelScope) -> None:
        """After a stop, cancel what still runs once the grace is over."""
        await self._stopping.wait()
        await anyio.sleep(self._grace)
        scope.cancel()

    async def _listen(self) -> None:
        """Look at the database at once when it notifies of something to remember."""
        if (listener := self._engine.store.listener()) is None:
            return
        try:
            while True:
                if await listener.wait(_LISTENING):
                    await anyio.sleep(self._random.uniform(0, _SPREAD))
                    self._changed.set()
        finally:
            await listener.close()

    async def _repeat(self, task: Callable[[], Awaitable[None]], pause: timedelta) -> None:
        while not self._stopping.is_set():
            await self._try(task)
            await self._pause(pause.total_seconds(), self._stopping)

    async def _try(self, task: Callable[[], Awaitable[None]]) -> None:
        """Call a task; if the store fails, it is tried again later."""
        try:
            await task()
            self._failure = ""
        except StoreError as error:
            self._failure = str(error)
            _log.warning("the worker tries again later: %s", error)

    async def _pause(self, seconds: float, event: anyio.Event) -> None:
        """Wait for about so many seconds, or until an event."""
        with anyio.move_on_after(seconds * self._random.uniform(1 - _JITTER, 1 + _JITTER)):
            await event.wait()


def _ignore(report: RememberReport) -> None:
    """Take a report that nobody asked for."""


def _first_error(error: Exception) -> Exception:
    """Return the error itself, not groups of one."""
    if isinstance(error, ExceptionGroup):
        return _first_error(cast("ExceptionGroup[Exception]", error).exceptions[0])
    return error
