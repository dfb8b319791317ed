"""Middleware that records each request: trace, metrics, log line and audit entry."""

from __future__ import annotations

import logging
import re
import time
from secrets import token_hex

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from theanine import telemetry
from theanine_server.context import RequestContext, current_request
from theanine_server.limits import MCP_PATH
from theanine_server.metrics import PROXIED, REQUESTS
from theanine_server.state import ServerState

_log = logging.getLogger(__name__)

PROBES = ("/health", "/ready")
"""Paths of probes, which are too frequent to be recorded."""
REQUEST_ID = b"x-request-id"
OUR_ID = b"theanine-request-id"
"""Header with the request's id where the answer has a provider's in the other."""
_VALID_ID = re.compile(rb"[\w.:/+=@-]{1,128}")


class ObserveMiddleware:
    """Trace, measure, log and audit every request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in PROBES:
            await self._app(scope, receive, send)
            return
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        given = next((value for name, value in headers if name == REQUEST_ID), b"")
        request = RequestContext(
            given.decode() if _VALID_ID.fullmatch(given) else token_hex(8),
            scope["method"],
            client=(scope["client"] or ("",))[0],
        )
        status, started = 500, time.perf_counter()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                answered: list[tuple[bytes, bytes]] = message.setdefault("headers", [])
                # A provider's own id, which its support asks for, stays the only one of its name.
                has_id = any(name == REQUEST_ID for name, _ in answered)
                answered.append((OUR_ID if has_id else REQUEST_ID, request.id.encode()))
                request.route = _route(scope)
                await _audit(scope, request, status)
                for name, value in answered:
                    if name == b"theanine-memory":
                        PROXIED.labels(value.decode()).inc()
            await send(message)

        scope.setdefault("state", {})["context"] = request
        token = current_request.set(request)
        try:
            with telemetry.request(request.method, headers) as span:
                try:
                    await self._app(scope, receive, sending)
                finally:
                    request.route = _route(scope)
                    await _audit(scope, request, status)
                    _describe(span, request, status)
                    self._report(request, status, time.perf_counter() - started)
        finally:
            current_request.reset(token)

    def _report(self, request: RequestContext, status: int, seconds: float) -> None:
        REQUESTS.labels(request.method, request.route, status).observe(seconds)
        milliseconds = round(1_000 * seconds, 1)
        fields = {
            "method": request.method,
            "route": request.route,
            "status": status,
            "ms": milliseconds,
        }
        line = "%s %s %d %.1f ms"
        values = (request.method, request.route, status, milliseconds)
        _log.info(line, *values, extra={"fields": fields})


async def _audit(scope: Scope, request: RequestContext, status: int) -> None:
    """Add a request to the audit log once it is known what it is about.

    That of a tool of MCP is known only after its answer has begun.
    """
    state: ServerState = scope["app"].state.server
    if not request.audited:
        request.audited = await state.audit.add(request, status)


def _route(scope: Scope) -> str:
    """Return the path of a request's route, which names no user; empty if there is none."""
    return MCP_PATH if scope["path"] == MCP_PATH else getattr(scope.get("route"), "path", "")


def _describe(span: telemetry.Span, request: RequestContext, status: int) -> None:
    span.rename(f"{request.method} {request.route}".rstrip())
    span.attributes |= {telemetry.ROUTE: request.route, telemetry.STATUS: status}
    span.attributes["theanine.request_id"] = request.id
    if request.principal:
        span.attributes["theanine.tenant"] = request.principal.tenant
    if status >= 500:
        span.attributes[telemetry.ERROR] = str(status)
