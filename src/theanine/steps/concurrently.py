"""Run independent calls side by side and give their results in order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar, cast

import anyio

T = TypeVar("T")


async def concurrently(calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """The results of all calls, in the order of the calls.

    When one fails the others are cancelled, and its own error is raised, not a group.
    """
    results: dict[int, T] = {}

    async def run(index: int, call: Callable[[], Awaitable[T]]) -> None:
        results[index] = await call()

    try:
        async with anyio.create_task_group() as group:
            for index, call in enumerate(calls):
                group.start_soon(run, index, call)
    except ExceptionGroup as failures:
        raise _first(failures) from failures
    return [results[index] for index in range(len(calls))]


def _first(failures: ExceptionGroup[Exception]) -> Exception:
    failure = failures.exceptions[0]
    while isinstance(failure, ExceptionGroup):
        failure = cast("ExceptionGroup[Exception]", failure).exceptions[0]
    return failure
