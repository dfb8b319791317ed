"""Cancels a coroutine at a chosen one of its awaits, in each way that a caller can."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any, Literal

import anyio

Manner = Literal["waiting", "finished", "scope"]
MANNERS: tuple[Manner, ...] = ("waiting", "finished", "scope")
"""``task.cancel()`` while the await waits; the same when what it waits for has just finished; and
an anyio scope that is cancelled while it waits."""


class _Stepped:
    """Awaits a coroutine, and cancels its task or a scope when it suspends for the n-th time."""

    def __init__(
        self, work: Coroutine[Any, Any, Any], at: int, manner: Manner, scope: anyio.CancelScope
    ) -> None:
        self._work, self._at, self._manner, self._scope = work, at, manner, scope
        self.awaits = 0

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = self._work.__await__()
        resume: Callable[[], asyncio.Future[Any] | None] = partial(next, steps)
        while True:
            try:
                waited = resume()
            except StopIteration as stop:
                return stop.value
            self.awaits += 1
            if self.awaits == self._at:
                self._cancel(waited)
            try:
                yield waited
                resume = partial(next, steps)
            except BaseException as error:  # noqa: BLE001 - also a cancellation, as await does
                resume = partial(steps.throw, error)

    def _cancel(self, waited: asyncio.Future[Any] | None) -> None:
        task = asyncio.current_task()
        assert task is not None
        if self._manner == "scope":
            self._scope.cancel()
        elif self._manner == "finished" and waited is not None:
            waited.add_done_callback(lambda _: task.cancel())  # before the task is woken
        else:
            task.cancel()


async def run_cancelled(work: Coroutine[Any, Any, Any], at: int, manner: Manner) -> bool:
    """Run a call in a task and cancel it at its n-th await; return whether it has that many.

    Raises what the call raises besides the cancellation.
    """
    reached = False

    async def run() -> None:
        nonlocal reached
        with anyio.CancelScope() as scope:
            stepped = _Stepped(work, at, manner, scope)
            try:
                await stepped
            finally:
                reached = stepped.awaits >= at

    await asyncio.wait([task := asyncio.create_task(run())])
    if not task.cancelled():
        await task
    return reached
