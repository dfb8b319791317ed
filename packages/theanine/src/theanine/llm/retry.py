"""Retry calls to a provider after passing failures: rate limits, server errors, time-outs.

Written here instead of taken from a library: each failed attempt must be journalled, the limiter
be released during pauses, and the provider's Retry-After be kept within the patience.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeVar

import anyio

from theanine.errors import ModelError, ModelRejected, ModelUnavailable, SettingsError
from theanine.llm.limits import Limits

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
    elapsed = 0.0
    for attempt in range(1 + limits.retries):
        timeout = min(limits.timeout, limits.patience - elapsed)
        async with limiter:
            started = anyio.current_time()
            result = await _result_or_error(call, timeout, label)
            seconds = anyio.current_time() - started
        if not isinstance(result, ModelError):
            return result
        if on_failure is not None:
            await on_failure(result, seconds)
        if not isinstance(result, ModelUnavailable):
            raise result
        jittered = rng.uniform(0, limits.first_wait * 2**attempt)
        pause = min(limits.max_wait, max(jittered, result.retry_after or 0.0))
        elapsed += seconds + pause
        if attempt == limits.retries or elapsed >= limits.patience:
            tries = "1 attempt" if attempt == 0 else f"{attempt + 1} attempts"
            raise ModelUnavailable(
                f"{label} gave no reply after {tries}; last error: {str(result).rstrip('.')}. "
                "Nothing is lost: run it again later to resume",
                retry_after=result.retry_after,
            ) from result
        await anyio.sleep(pause)
    raise SettingsError(f"retries must be 0 or more, not {limits.retries}")


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
