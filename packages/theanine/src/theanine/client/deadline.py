"""Recall within a deadline, by the best of several attempts that ends in time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

import anyio

from theanine.cancellation import abandon
from theanine.errors import StoreUnavailable
from theanine.types import Recollection

T = TypeVar("T")

_log = logging.getLogger(__name__)

LEAST = 0.1
"""Shortest deadline in seconds; a working store returns its newest turns in less."""


class OutOfTime(StoreUnavailable):
    """No attempt of a recall was done in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A recall that may be tried within a deadline, and what its result lacks.

    Attributes:
        recall: starts the recall.
        lacks: note for the recollection on what it leaves out; empty for nothing.
    """

    recall: Callable[[], Coroutine[Any, Any, Recollection]]
    lacks: str = ""


async def recall_in_time(attempts: Sequence[Attempt], seconds: float) -> Recollection:
    """Return the best recollection that is done in time, with notes on what it leaves out.

    The attempts are given best first. While none is done, the second begins after half of the time,
    and each further one after half of what is left then. Raises what the first raises, and
    OutOfTime if none is done. A shorter deadline than ``LEAST`` counts as that.
    """
    seconds = max(seconds, LEAST)
    begun = anyio.current_time()
    best = asyncio.create_task(attempts[0].recall())
    tasks = [best]
    try:
        for number, following in enumerate([*attempts[1:], None], 1):
            until = seconds * (1 - 0.5**number) if following else seconds
            await asyncio.wait([best], timeout=max(begun + until - anyio.current_time(), 0))
            if best.done():
                return best.result()
            if following and not any(map(_has_result, tasks)):
                tasks.append(asyncio.create_task(following.recall()))
        for task, attempt in zip(tasks, attempts, strict=False):
            if _has_result(task):
                found = task.result()
                note = f"{attempt.lacks} within {seconds:g} s"
                return replace(found, notes=(*found.notes, note))
            if task.done():
                _log.warning("a recall within %g s failed: %s", seconds, task.exception())
    finally:
        for task in tasks:
            abandon(task)
    raise OutOfTime(f"the store gave nothing within {seconds:g} s; try again")


def _has_result(task: asyncio.Task[Recollection]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


class SharedLoads(Generic[T]):
    """Loads that several callers share, and that continue when a caller is cancelled."""

    def __init__(self) -> None:
        self._tasks: dict[Hashable, asyncio.Task[T]] = {}

    async def run(self, key: Hashable, load: Callable[[], Coroutine[Any, Any, T]]) -> T | None:
        """Wait for the load under a key, and start it if nobody has.

        Returns its result to whoever started it, and None to others: it may have begun before
        what they have to see was stored.
        """
        if (others := self._tasks.get(key)) is not None:
            await asyncio.shield(others)
            return None
        task = self._tasks[key] = asyncio.create_task(load())
        task.add_done_callback(partial(self._end, key))
        return await asyncio.shield(task)

    def _end(self, key: Hashable, task: asyncio.Task[T]) -> None:
        self._tasks.pop(key, None)
        if not task.cancelled() and (error := task.exception()):
            _log.info("what a recall needs could not be loaded: %s", error)

    async def cancel(self) -> None:
        """Cancel all loads."""
        for task in [*self._tasks.values()]:
            task.cancel()
            await asyncio.wait([task])
