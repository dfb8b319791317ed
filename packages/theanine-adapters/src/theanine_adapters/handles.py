"""Calling a user's handle, synchronous or not, from a framework's code of either kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, Protocol, TypeVar

from anyio import to_thread

from theanine.client import AsyncUserMemory, UserMemory
from theanine.errors import MissingExtra, SettingsError

R = TypeVar("R")
UserHandle = UserMemory | AsyncUserMemory
"""What ``client.user("ana")`` returns."""


class Call(Protocol):
    """Calls a method of a handle."""

    def __call__(
        self, method: Callable[..., Awaitable[R] | R], /, *args: Any, **options: Any
    ) -> Awaitable[R]: ...


async def call(method: Callable[..., Awaitable[R] | R], /, *args: Any, **options: Any) -> R:
    """Call a method of either kind of handle without blocking the event loop."""
    if iscoroutinefunction(method):
        return await method(*args, **options)
    return await to_thread.run_sync(partial(method, *args, **options))  # type: ignore[arg-type]


async def call_now(method: Callable[..., Awaitable[R] | R], /, *args: Any, **options: Any) -> R:
    """Call a method of a synchronous handle in this thread. Raises SettingsError for another."""
    if iscoroutinefunction(method):
        raise SettingsError(
            "this call doesn't await: pass the handle of a client of theanine.open, not of aopen"
        )
    result = method(*args, **options)
    assert not isawaitable(result)
    return result


def run_now(steps: Coroutine[Any, Any, R]) -> R:
    """Return the result of a coroutine that awaits nothing but :func:`call_now`."""
    try:
        steps.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the coroutine waits for an event loop")


@contextmanager
def needs_extra(extra: str) -> Generator[None]:
    """Import a framework; raise MissingExtra, which names its extra, if it isn't installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra(extra, f"theanine_adapters.{extra.replace('-', '_')}") from error
