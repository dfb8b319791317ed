"""Retry calls to a provider after passing failures: rate limits, server errors, time-outs.

Each failed attempt is journalled, and the limiter is released during pauses.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeVar

import anyio

from theanine.errors import ModelError, ModelRejected, ModelUnavailable, SettingsError
from theanine.llm.limits import Limits
from theanine.retrying import Failure, repeat

T = TypeVar("T")
OnFailure = Callable[[ModelError, float], Awaitable[None]]
"""Called after each failed attempt with the error and its duration in seconds."""


async def call_with_retries(
    call: Callable[[], Awaitable[T]],
    label: str,
    *,
    limits: Limits,
    limiter: anyio.CapacityLimiter,
    rng: Random,
    on_failure: OnFailure | None = None,
) -> T:
    """Return the first result of ``call`` within the limits.

    Pauses grow exponentially with full jitter, and last at least as long as the provider asked.
    ``limiter`` is held during a call, not during pauses; waiting for it does not count as patience.

    Args:
        label: what is called, for error messages.

    Raises:
        ModelUnavailable: retries or patience are used up.
        ModelRejected: at once.
    """
    if limits.retries < 0:
        raise SettingsError(f"retries must be 0 or more, not {limits.retries}")

    async def attempt(elapsed: float) -> T | Failure:
        timeout = min(limits.timeout, limits.patience - elapsed)
        async with limiter:
            started = anyio.current_time()
            result = await _result_or_error(call, timeout, label)
            seconds = anyio.current_time() - started
        if not isinstance(result, ModelError):
            return result
        if on_failure is not None:
            await on_failure(result, seconds)
        passing = isinstance(result, ModelUnavailable)
        wait = result.retry_after if isinstance(result, ModelUnavailable) else None
        return Failure(result, passing, wait, seconds)

    result = await repeat(
        attempt,
        attempts=1 + limits.retries,
        first_wait=limits.first_wait,
        max_wait=limits.max_wait,
        patience=limits.patience,
        rng=rng,
    )
    if not isinstance(result, Failure):
        return result
    if not result.passing:
        raise result.error
    tries = "1 attempt" if result.attempts == 1 else f"{result.attempts} attempts"
    raise ModelUnavailable(
        f"{label} gave no reply after {tries}; last error: {str(result.error).rstrip('.')}. "
        "Nothing is lost: run it again later to resume",
        retry_after=result.wait,
    ) from result.error


async def _result_or_error(
    call: Callable[[], Awaitable[T]], seconds: float, label: str
) -> T | ModelError:
    try:
        with anyio.move_on_after(seconds):
            return await call()
    except (ModelUnavailable, ModelRejected) as error:
        return error
    advice = "a slow model needs a longer --timeout (Limits.timeout), or fewer max_tokens"
    return ModelUnavailable(f"{label} did not reply within {seconds:g} s: {advice}")
