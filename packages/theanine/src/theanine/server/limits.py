"""Limits of size, rate and number, so that a queue never grows."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from math import ceil

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from theanine.server.problems import problem_response

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
    """Answer 429 above a number of requests at once, 413 above a size of body, 503 out of time."""

    def __init__(self, app: ASGIApp, *, max_requests: int, max_body: int, timeout: float) -> None:
        self._app, self._max_requests, self._max_body = app, max_requests, max_body
        self._timeout = timeout
        self._active = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in UNLIMITED:
            await self._app(scope, receive, send)
            return
        if self._active >= self._max_requests:
            refusal = problem_response(
                429, "busy", "the service is busy; try again", headers={"Retry-After": "1"}
            )
            await refusal(scope, receive, send)
            return
        self._active += 1
        try:
            if scope["path"].endswith(UNBOUNDED):
                await self._app(scope, receive, send)
            else:
                await self._serve(scope, self._bounded(receive), send)
        finally:
            self._active -= 1

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        limit = asyncio.timeout(self._timeout)
        try:
            async with limit:

                async def sending(message: Message) -> None:
                    limit.reschedule(None)  # what has begun, such as a stream, may take its time
                    await send(message)

                await self._app(scope, receive, sending)
        except TimeoutError:
            if not limit.expired():
                raise
            detail = f"the request was not done in {self._timeout:g} s; try again"
            refusal = problem_response(503, "timed_out", detail, headers={"Retry-After": "1"})
            await refusal(scope, receive, send)

    def _bounded(self, receive: Receive) -> Receive:
        """Return ``receive`` that ends a body above its size."""
        size = 0

        async def bounded() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._max_body:
                # FastAPI answers any other error while a body is read with 400.
                raise HTTPException(413, f"the body is larger than {self._max_body:,} bytes")
            return message

        return bounded
