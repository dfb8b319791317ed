"""Work that is waited for only until a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_overdue: set[asyncio.Task[Any]] = set()
"""Tasks that are still ending; the event loop itself keeps no reference."""


async def within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of some work. Raises TimeoutError if it takes longer.

    Then it is cancelled, but not waited for: a write that has begun is finished first, and a
    statement waits for its database.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            task.cancel()
            _overdue.add(task)
            task.add_done_callback(_forget)
    if task.done():
        return task.result()
    raise TimeoutError(f"not done in {seconds:g} s")


def _forget(task: asyncio.Task[Any]) -> None:
    _overdue.discard(task)
    if not task.cancelled():
        task.exception()  # nobody else asks for it
