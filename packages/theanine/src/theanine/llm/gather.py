"""Run independent calls side by side and give their results in order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio

from theanine.errors import TheanineError

T = TypeVar("T")


async def gather(calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """The results of all calls, in the order of the calls.

    When some fail the others still come to their end, since what a model already answers is paid
    for; then the first failure is raised, in the order of the calls.
    """
    results: dict[int, T] = {}
    failures: dict[int, TheanineError] = {}

    async def run(index: int, call: Callable[[], Awaitable[T]]) -> None:
        try:
            results[index] = await call()
        except TheanineError as failure:
            failures[index] = failure

    try:
        async with anyio.create_task_group() as group:
            for index, call in enumerate(calls):
                group.start_soon(run, index, call)
    except ExceptionGroup as others:  # faults of the program: nothing to wait for
        raise others.exceptions[0] from others
    if failures:
        raise failures[min(failures)]
    return [results[index] for index in range(len(calls))]
