"""Values of request headers, without the blanks around them (RFC 9110, section 5.5)."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


class TrimHeaderValues:
    """Middleware that removes blanks after a value, which the parser httptools leaves."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        await self._app(scope, receive, send)
