"""The Model Context Protocol over HTTP, with the same keys as all other routes."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

from fastapi import Request
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

from theanine.client import AsyncUserMemory
from theanine.errors import UserError
from theanine.store.sql.api_keys import Right
from theanine_server.access import (
    AGENT_HEADER,
    USER_HEADER,
    authenticate_request,
    name_in_header,
    open_memory,
)
from theanine_server.context import context_of
from theanine_server.mcp.server import build_server
from theanine_server.mcp.tools import Access
from theanine_server.problems import Refused
from theanine_server.settings import ServerOptions

IDLE_TIMEOUT = 1_800.0
"""Seconds after which the session of a client before revision 2026-07-28 is over."""


class McpEndpoint:
    """The ASGI application of the route."""

    def __init__(self, options: ServerOptions) -> None:
        self.server = build_server(_find_memory)
        self.server.streamable_http_app(
            stateless_http=not options.mcp_sessions,
            max_request_body_size=options.max_body,
            # Who may ask is decided by the key or, without keys, by `access`: it refuses what comes
            # from elsewhere.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        self._manager = self.server.session_manager
        if options.mcp_sessions:
            self._manager.session_idle_timeout = IDLE_TIMEOUT

    def run(self) -> AbstractAsyncContextManager[None]:
        """Serve requests while the context is entered, which is possible once."""
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises Refused for one without a valid key."""
        request = Request(scope)
        principal = await authenticate_request(request)
        # A session is only for the key that began it.
        token = AccessToken(token="", client_id=principal.key, scopes=list(principal.rights))
        scope["user"] = AuthenticatedUser(token)
        await self._manager.handle_request(scope, receive, send)


def _find_memory(context: Context[Any, Any], access: Access) -> AsyncUserMemory:
    """Return the memory of the user that the headers or the key name. Raises UserError."""
    request: Request | None = context.request_context.request
    assert request is not None
    principal = context_of(request).principal
    assert principal is not None
    right: Right = "read" if access == "read" else "write"
    context_of(request).right = right
    context_of(request).erases = access == "erase"
    try:
        principal.require(right)
        user = name_in_header(request, USER_HEADER) or principal.user
        if user is None:
            raise UserError(
                f"name the user: send the header {USER_HEADER}, or use a key of one user"
            )
        return open_memory(request, principal, user, name_in_header(request, AGENT_HEADER))
    except Refused as error:
        raise UserError(str(error)) from None
