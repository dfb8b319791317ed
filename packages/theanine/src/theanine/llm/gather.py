"""Run independent calls concurrently."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio

from theanine.errors import TheanineError

T = TypeVar("T")


async def gather(calls: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Return the results of all calls, in the order of the calls.

    If some fail, the others still finish, since their replies are paid for; then the first error
    in the order of the calls is raised.
    """
    results: dict[int, T] = {}
    errors: dict[int, TheanineError] = {}

    async def run(index: int, call: Callable[[], Awaitable[T]]) -> None:
        try:
            results[index] = await call()
        except TheanineError as error:
            errors[index] = error

    try:
        async with anyio.create_task_group() as group:
            for index, call in enumerate(calls):
                group.start_soon(run, index, call)
    except ExceptionGroup as bugs:  # not errors of a model: the others were cancelled
        raise bugs.exceptions[0] from bugs
    if errors:
        raise errors[min(errors)]
    return [results[index] for index in range(len(calls))]
