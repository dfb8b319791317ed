"""Ask a provider again after what may pass: rate limits, server errors, silence, dropped lines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeVar

import anyio

from theanine.errors import ModelError, ModelRejected, ModelUnavailable, SettingsError
from theanine.llm.limits import Limits

T = TypeVar("T")
Failed = Callable[[ModelError, float], Awaitable[None]]
"""Told of each call that failed: the error and how many seconds it took."""


async def retrying(
    call: Callable[[], Awaitable[T]],
    what: str,
    *,
    limits: Limits,
    gate: anyio.CapacityLimiter,
    rng: Random,
    failed: Failed,
) -> T:
    """The first answer of ``call``, within the limits.

    Pauses grow exponentially with full jitter, and last at least as long as the provider asked.
    ``gate`` is held while a call is under way, not in the pauses; queueing at it costs no patience.

    Raises ModelUnavailable when retries or patience run out, ModelRejected at once.
    """
    waited = 0.0
    for attempt in range(1 + limits.retries):
        room = min(limits.timeout, limits.patience - waited)
        async with gate:
            started = anyio.current_time()
            answer = await _answer_or_error(call, room, what)
            took = anyio.current_time() - started
        if not isinstance(answer, ModelError):
            return answer
        await failed(answer, took)
        if not isinstance(answer, ModelUnavailable):
            raise answer
        pause = _pause(attempt, answer.retry_after, limits, rng)
        waited += took + pause
        if attempt == limits.retries or waited >= limits.patience:
            raise _gave_up(what, attempt + 1, answer) from answer
        await anyio.sleep(pause)
    raise SettingsError(f"retries must be 0 or more, not {limits.retries}")


async def _answer_or_error(
    call: Callable[[], Awaitable[T]], seconds: float, what: str
) -> T | ModelError:
    try:
        with anyio.move_on_after(seconds):
            return await call()
    except (ModelUnavailable, ModelRejected) as error:
        return error
    return ModelUnavailable(f"{what} did not answer within {seconds:g} s")


def _pause(attempt: int, asked: float | None, limits: Limits, rng: Random) -> float:
    jittered = rng.uniform(0, limits.first_wait * 2**attempt)
    return min(limits.max_wait, max(jittered, asked or 0.0))


def _gave_up(what: str, tries: int, error: ModelUnavailable) -> ModelUnavailable:
    times = "1 try" if tries == 1 else f"{tries} tries"
    return ModelUnavailable(
        f"{what} gave no answer after {times}; the last: {str(error).rstrip('.')}. "
        "Nothing is lost: run it again later and it resumes",
        retry_after=error.retry_after,
    )
