"""Wait for work no longer than until a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from theanine.cancellation import abandon

T = TypeVar("T")


async def within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of some work. Raises TimeoutError if it takes longer.

    Then it is cancelled, but not waited for: a write that has begun is finished first, and a
    statement waits for its database.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if task.done():
            return task.result()
    finally:
        abandon(task)
    raise TimeoutError(f"not done in {seconds:g} s")
