"""The request that is being served, for its log line, trace and audit entry."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from starlette.requests import Request

from theanine.store.sql.api_keys import RIGHTS, Right, allows
from theanine.types import Scope
from theanine_server.problems import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The sender of a request: its key, and what that key may access.

    Attributes:
        key: id of the key; empty without one (``--dev``).
        tenant: the only tenant whose data it can access.
        user: the only user it may name; None for all of the tenant.
        agent: the only agent it may name; None for all of the tenant.
        rights: what it may do.
        rate: requests a minute; None for no limit of its own.
    """

    key: str = ""
    tenant: str = "default"
    user: str | None = None
    agent: str | None = None
    rights: tuple[Right, ...] = RIGHTS
    rate: int | None = None

    def require(self, right: Right) -> None:
        """Answer 403 without a right."""
        if not allows(self.rights, right):
            raise Refused(403, "forbidden", f"the key lacks the right to {right}")


@dataclass(slots=True)
class RequestContext:
    """A request.

    Attributes:
        id: the client's ``X-Request-Id``, or a new one.
        route: path of the route, with the names of parameters in place of their values; empty
            until it is found.
        principal: who sent it; None until the key is read.
        right: what the route needs; None for those that any key may use.
        scope: the user whose memory was opened; None if there was none.
        erases: whether a tool of MCP erases something, which its path doesn't tell.
        audited: whether it is in the audit log.
        client: address of the client, or of a reverse proxy before it.
    """

    id: str
    method: str
    route: str = ""
    principal: Principal | None = None
    right: Right | None = None
    scope: Scope | None = None
    erases: bool = False
    audited: bool = False
    client: str = ""


current_request: ContextVar[RequestContext | None] = ContextVar("current_request", default=None)
"""The request that is being served, for the log; None outside of one."""


def context_of(request: Request) -> RequestContext:
    """Return the context of a request, to be filled in."""
    return request.state.context
