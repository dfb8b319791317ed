"""Limits of size, rate and number, so that a queue never grows."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Collection
from math import ceil

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from theanine.server.problems import RETRY_LATER, problem_response
from theanine.server.settings import ServerOptions

MINUTE = 60.0
MAX_RATES = 10_000
"""Keys whose rate a process follows."""
UNLIMITED = ("/health", "/ready", "/metrics")
"""Paths that are answered however many requests there are."""
UNBOUNDED = "/import"
"""End of the paths that read a file, however large and long; they have limits of their own."""


class Rates:
    """The rates of keys in this process: a bucket of a minute's requests, filled steadily."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, rate: int | None) -> int:
        """Count a request; return 0, or after how many seconds it may come if it is too early."""
        if rate is None:
            return 0
        now = time.monotonic()
        left, last = self._buckets.get(key, (float(rate), now))
        left = min(float(rate), left + (now - last) * rate / MINUTE)
        allowed = left >= 1
        self._buckets[key] = (left - allowed, now)
        self._buckets.move_to_end(key)
        if len(self._buckets) > MAX_RATES:
            self._buckets.popitem(last=False)
        return 0 if allowed else ceil((1 - left) * MINUTE / rate)


class LimitMiddleware:
    """Answer 429 above a number of requests at once, 413 above a size of body, 503 out of time.

    Requests of the proxy, which wait for a provider, have a number and a size of their own, and no
    limit of time but the provider's.
    """

    def __init__(self, app: ASGIApp, *, options: ServerOptions, proxied: Collection[str]) -> None:
        self._app, self._options, self._proxied = app, options, proxied
        self._active = Counter[bool]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in UNLIMITED:
            await self._app(scope, receive, send)
            return
        options, is_proxied = self._options, scope["path"] in self._proxied
        if self._active[is_proxied] >= (
            options.max_proxied if is_proxied else options.max_requests
        ):
            refusal = problem_response(
                429, "busy", "the service is busy; try again", headers=RETRY_LATER
            )
            await refusal(scope, receive, send)
            return
        self._active[is_proxied] += 1
        try:
            if is_proxied:
                await self._app(scope, _bounded(receive, options.max_proxied_body), send)
            elif scope["path"].endswith(UNBOUNDED):
                await self._app(scope, receive, send)
            else:
                await self._serve(scope, _bounded(receive, options.max_body), send)
        finally:
            self._active[is_proxied] -= 1

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        limit = asyncio.timeout(self._options.request_timeout)
        try:
            async with limit:

                async def sending(message: Message) -> None:
                    limit.reschedule(None)  # what has begun, such as a stream, may take its time
                    await send(message)

                await self._app(scope, receive, sending)
        except TimeoutError:
            if not limit.expired():
                raise
            detail = f"the request was not done in {self._options.request_timeout:g} s; try again"
            refusal = problem_response(503, "timed_out", detail, headers=RETRY_LATER)
            await refusal(scope, receive, send)


def _bounded(receive: Receive, most: int) -> Receive:
    """Return ``receive`` that ends a body above a size."""
    size = 0

    async def bounded() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > most:
            # FastAPI answers any other error while a body is read with 400.
            raise HTTPException(413, f"the body is larger than {most:,} bytes")
        return message

    return bounded
