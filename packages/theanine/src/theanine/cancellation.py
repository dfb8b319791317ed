"""Work that is finished although its caller is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import anyio

T = TypeVar("T")


_overdue: set[asyncio.Task[Any]] = set()
"""Tasks that are still ending; the event loop itself keeps no reference."""


def abandon(task: asyncio.Task[Any]) -> None:
    """Cancel a task that nobody waits for: work in a thread, for instance, ends in its own time."""
    if not task.done():
        task.cancel()
    _overdue.add(task)
    task.add_done_callback(_forget)


def _forget(task: asyncio.Task[Any]) -> None:
    _overdue.discard(task)
    if not task.cancelled():
        task.exception()  # nobody else asks for it


async def finish(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end even if the caller is cancelled, and only then raise that.

    It runs in a task of its own: the shield of anyio lets ``task.cancel()`` through.
    """
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancelled = error
    if cancelled is not None:
        raise cancelled from (None if task.cancelled() else task.exception())
    return task.result()
