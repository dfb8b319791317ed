"""Limits of the size, rate and number of requests, so that none queue up."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Collection
from math import ceil
from typing import Literal

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from theanine.server.problems import RETRY_LATER, problem_response
from theanine.server.settings import ServerOptions

MINUTE = 60.0
Kind = Literal["api", "stream", "proxy", "mcp"]
MAX_RATES = 10_000
"""Maximum keys whose rate a process tracks."""
UNLIMITED = ("/health", "/ready")
"""Paths without any limit."""
MCP_PATH = "/mcp"
ENDLESS = "/events"
"""End of the paths of streams that never end."""
UNBOUNDED = ("/import", "/import/preview")
"""Ends of the paths that take files; these have limits of their own."""


class Rates:
    """Rate limits by key in this process: token buckets that hold one minute's requests."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, rate: int | None) -> int:
        """Count a request; return 0 or, if it exceeds the rate, the seconds until it is allowed."""
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

    Streams of changes, which never end, have a number of their own. So have requests of MCP, which
    may be streams, and those of the proxy, which wait for a provider, with a size of their own, and
    no limit of time but the provider's.
    """

    def __init__(self, app: ASGIApp, *, options: ServerOptions, proxied: Collection[str]) -> None:
        self._app, self._options = app, options
        self._kinds: dict[str, Kind] = {**dict.fromkeys(proxied, "proxy"), MCP_PATH: "mcp"}
        self._most: dict[Kind, int] = {
            "api": options.max_requests,
            "stream": options.max_streams,
            "proxy": options.max_proxied,
            "mcp": options.max_mcp,
        }
        self._active = Counter[Kind]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in UNLIMITED:
            await self._app(scope, receive, send)
            return
        options, path = self._options, scope["path"]
        kind = "stream" if path.endswith(ENDLESS) else self._kinds.get(path, "api")
        if self._active[kind] >= self._most[kind]:
            refusal = problem_response(
                429, "busy", "the service is busy; try again", headers=RETRY_LATER
            )
            await refusal(scope, receive, send)
            return
        self._active[kind] += 1
        try:
            if kind == "proxy":
                await self._app(scope, _bounded(receive, options.max_proxied_body), send)
            elif path.endswith(UNBOUNDED):
                await self._app(scope, receive, send)
            else:
                await self._serve(scope, _bounded(receive, options.max_body), send)
        finally:
            self._active[kind] -= 1

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
    """Return a ``receive`` that refuses a body above a size."""
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
