"""Limits of the size, rate and number of requests, so that none queue up."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Literal

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from theanine_server.problems import RETRY_LATER, Refused, problem_response
from theanine_server.provider_paths import ProviderPaths, is_passed_on, provider_of
from theanine_server.settings import ServerOptions

MINUTE = 60.0
Kind = Literal["api", "stream", "proxy", "mcp", "import", "sign-in"]
MAX_RATES = 10_000
"""Maximum keys whose rate a process tracks."""
UNLIMITED = ("/health", "/ready")
"""Paths without any limit."""
MCP_PATH = "/mcp"
ENDLESS = "/events"
"""End of the paths of streams that never end."""
FILES = ("/import", "/import/preview")
"""Ends of the paths that take files."""
SIGN_IN = "/v1/session"
"""Path whose body is read before it is known who asks."""
SLOT = "slot"
"""Name of a request's slot in its state."""
SLOWEST = 10_000
"""Bytes a second that a body must come with, after its first seconds."""


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


@dataclass
class Slots:
    """The requests that a process serves at once, by their kind.

    No tenant gets more than half of a kind's slots, and no key of one user or agent more than an
    eighth, so that nobody keeps the others out.
    """

    most: Mapping[Kind, int]
    _taken: Counter[tuple[Kind, str, str]] = field(
        default_factory=Counter[tuple[Kind, str, str]], init=False
    )

    @classmethod
    def of(cls, options: ServerOptions) -> Slots:
        """Return the slots of a service."""
        return cls(
            {
                "api": options.max_requests,
                "stream": options.max_streams,
                "proxy": options.max_proxied,
                "mcp": options.max_mcp,
                "import": options.max_imports,
                "sign-in": options.max_sign_ins,
            }
        )

    def is_full(self, kind: Kind) -> bool:
        """Whether a kind has no free slot."""
        return self._taken[kind, "all", ""] >= self.most[kind]

    def take(self, kind: Kind) -> Slot | None:
        """Take a slot; return None if all are taken."""
        if self.is_full(kind):
            return None
        slot = Slot(self, kind)
        slot.count("all", "")
        return slot

    def has_share(self, kind: Kind, holder: str, name: str) -> bool:
        """Whether a tenant or a bound key has less than its share of a kind's slots."""
        share = self.most[kind] // (2 if holder == "tenant" else 8)
        return self._taken[kind, holder, name] < max(1, share)

    def change(self, kind: Kind, holder: str, name: str, by: int) -> None:
        """Count slots that are taken or free again."""
        self._taken[kind, holder, name] += by
        if not self._taken[kind, holder, name]:
            del self._taken[kind, holder, name]


class Slot:
    """The slot of one request."""

    def __init__(self, slots: Slots, kind: Kind) -> None:
        self._slots = slots
        self._kind: Kind = kind
        self._counted: list[tuple[str, str]] = []

    def count(self, holder: str, name: str) -> None:
        """Count it as one of a holder's."""
        self._counted.append((holder, name))
        self._slots.change(self._kind, holder, name, 1)

    def give_to(self, *, tenant: str, key: str | None) -> None:
        """Count it as one of a tenant, and of its key if that is of one user or agent.

        Answers 429 if they have their share.
        """
        holders = [("tenant", tenant), *([("key", key)] if key is not None else [])]
        for holder, name in holders:
            if not self._slots.has_share(self._kind, holder, name):
                detail = f"too many requests of this {holder} at once; try again"
                raise Refused(429, "busy", detail, RETRY_LATER)
        for holder, name in holders:
            self.count(holder, name)

    def release(self) -> None:
        """Free it for another request."""
        for holder, name in self._counted:
            self._slots.change(self._kind, holder, name, -1)
        self._counted = []


class LimitMiddleware:
    """Answer 429 above a number of requests at once, 413 above a size of body, 503 out of time.

    Streams of changes, which never end, have a number of their own. So have requests of MCP, which
    may be streams, those of the proxy, which wait for a provider, with a size of their own, and no
    limit of time but the provider's, and imports. A body that comes too slowly is answered with
    408.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        options: ServerOptions,
        slots: Slots,
        providers: ProviderPaths | None,
    ) -> None:
        self._app, self._options, self._slots = app, options, slots
        self._providers = providers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in UNLIMITED:
            await self._app(scope, receive, send)
            return
        if self._providers is not None:
            self._providers.find(scope)
        kind = "proxy" if provider_of(scope) else self._kind(scope["path"])
        slot = self._slots.take(kind)
        if slot is None:
            refusal = problem_response(
                scope, 429, "busy", "the service is busy; try again", headers=RETRY_LATER
            )
            await refusal(scope, receive, send)
            return
        scope.setdefault("state", {})[SLOT] = slot
        options = self._options
        most = {"proxy": options.max_proxied_body, "import": None}.get(kind, options.max_body)
        if is_passed_on(scope):  # in pieces, as it comes
            most = None
        body = _Body(receive, most, options.body_timeout)
        try:
            if kind in ("proxy", "import"):
                await self._app(scope, body, send)
            else:
                await self._serve(scope, body, send)
        finally:
            slot.release()

    def _kind(self, path: str) -> Kind:
        if path.endswith(ENDLESS):
            return "stream"
        if path.endswith(FILES):
            return "import"
        return "mcp" if path == MCP_PATH else "sign-in" if path == SIGN_IN else "api"

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
            refusal = problem_response(scope, 503, "timed_out", detail, headers=RETRY_LATER)
            await refusal(scope, receive, send)


class _Body:
    """A ``receive`` that refuses a body above a size, and one that comes too slowly.

    Args:
        receive: the one of the server.
        most: bytes; None where what reads the body has a limit of its own.
        patience: seconds that a body of any size may take.
    """

    def __init__(self, receive: Receive, most: int | None, patience: float) -> None:
        self._receive, self._most, self._patience = receive, most, patience
        self._size, self._complete = 0, False
        self._started: float | None = None

    async def __call__(self) -> Message:
        if self._complete:  # what comes next is that the client has gone
            return await self._receive()
        loop = asyncio.get_running_loop()
        if self._started is None:
            self._started = loop.time()
        try:
            async with asyncio.timeout_at(self._started + self._patience + self._size / SLOWEST):
                message = await self._receive()
        except TimeoutError:
            # FastAPI answers any other error while a body is read with 400.
            headers = {"Connection": "close"}
            raise HTTPException(408, "the body comes too slowly; send it again", headers) from None
        self._complete = not message.get("more_body", False)
        self._size += len(message.get("body", b""))
        if self._most is not None and self._size > self._most:
            raise HTTPException(413, f"the body is larger than {self._most:,} bytes")
        return message
