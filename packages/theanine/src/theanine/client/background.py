"""Remembering in the background, while the application goes on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from typing import Any

from theanine.cancellation import finish
from theanine.client.arguments import check_arguments
from theanine.remembering.report import Progress, RememberReport
from theanine.types import Scope

_log = logging.getLogger(__name__)


@check_arguments
class Remembering:
    """Ended sessions that are being remembered: await it, or wait for :meth:`result`.

    Both give the reports of the sessions that this run remembered, and raise what stopped it.
    """

    def __init__(self, future: Future[list[RememberReport]]) -> None:
        self._future = future

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> list[RememberReport]:
        """Wait for the end in a thread without an event loop, at most ``timeout`` seconds.

        Raises TimeoutError; remembering goes on.
        """
        return self._future.result(timeout)

    def __await__(self) -> Generator[Any, None, list[RememberReport]]:
        return asyncio.wrap_future(self._future).__await__()


class Background:
    """The background tasks of one client.

    Args:
        remember: remembers what is pending in a scope, or in all.
    """

    def __init__(
        self, remember: Callable[[Scope | None, Progress], Awaitable[list[RememberReport]]]
    ) -> None:
        self._remember = remember
        self._tasks: set[asyncio.Task[None]] = set()

    def start(
        self, scope: Scope | None, then: Callable[[RememberReport], object] | None
    ) -> Remembering:
        """Start remembering what is pending; ``then`` is called after each session."""
        future: Future[list[RememberReport]] = Future()
        future.set_running_or_notify_cancel()  # who stops waiting doesn't stop it
        task = asyncio.get_running_loop().create_task(self._run(scope, then, future))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return Remembering(future)

    async def _run(
        self,
        scope: Scope | None,
        then: Callable[[RememberReport], object] | None,
        future: Future[list[RememberReport]],
    ) -> None:
        def report(done: RememberReport) -> None:
            if done.failure:  # its words may quote the user
                _log.warning("session %d of %s is not remembered yet", done.session, done.scope)
            if then is None:
                return
            try:
                then(done)
            except Exception:
                _log.exception(
                    "your callback (on_remembered= or then=) failed after session %d of %s was "
                    "remembered",
                    done.session,
                    done.scope,
                )
                raise

        try:
            future.set_result(await self._remember(scope, report))
        except BaseException as error:
            # Whoever waits gets it; it must be seen where nobody does.
            _log.warning("remembering in the background stopped: %s", type(error).__name__)
            future.set_exception(error)
            if not isinstance(error, Exception):
                raise

    async def finish(self) -> None:
        """Wait for all tasks; if the caller is cancelled, cancel them."""
        tasks = list(self._tasks)
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            for task in tasks:
                task.cancel()
            if tasks:
                await finish(asyncio.wait(tasks))  # they release their leases
