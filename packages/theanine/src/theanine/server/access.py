"""Who asks: the principal of a request, and the walls around it.

A key's tenant is the only one that its requests can name, so what belongs to another tenant is not
found, as if it did not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address
from typing import Annotated

from fastapi import Depends, Header, Path, Query, Request, Security
from fastapi.security import APIKeyHeader, HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials

from theanine.client import AsyncUserMemory
from theanine.errors import StoreError
from theanine.server.deadline import within
from theanine.server.keys import KNOWN_WITHOUT_STORE, is_own_key
from theanine.server.problems import RETRY_LATER, Refused
from theanine.server.state import ServerState
from theanine.store.sql.api_keys import RIGHTS, ApiKey, Right, find_key

KEY_HEADER = "Theanine-Key"
"""Where a client names its key if ``Authorization`` has another one, such as a model provider's."""

KEY_DEADLINE = 5.0
"""Seconds that reading a key may take."""

_bearer = HTTPBearer(auto_error=False, description="A key of `theanine keys create`.")
_header = APIKeyHeader(name=KEY_HEADER, auto_error=False, description="The same key.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who asks, and what they may see.

    Attributes:
        key: id of the key; empty without one (``--dev``).
        tenant: the only tenant whose data there is for it.
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


async def authenticate(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)] = None,
    header: Annotated[str | None, Security(_header)] = None,
    anthropic: Annotated[str | None, Header(alias="x-api-key", include_in_schema=False)] = None,
) -> Principal:
    """Return who asks. Answers 401 without a valid key, and 429 above the key's rate."""
    state: ServerState = request.app.state.server
    tokens = [header or "", bearer.credentials if bearer else "", anthropic or ""]
    token = next(filter(is_own_key, tokens), "")
    if not token:
        if state.options.dev:
            _check_local(request)
            return Principal()
        raise _unauthorized(
            f"a key of the service is needed: send Authorization: Bearer KEY, or {KEY_HEADER}: KEY"
        )
    now = state.clock()
    key = await _find_key(state, token, now)
    if key is None or not key.is_valid(now):
        raise _unauthorized("the key is unknown, expired or revoked")
    principal = Principal(
        key=key.id,
        tenant=key.tenant,
        user=key.user,
        agent=key.agent,
        rights=key.rights,
        rate=key.rate,
    )
    request.state.principal = principal
    wait = state.rates.take(key.id, key.rate)
    if wait:
        raise Refused(
            429,
            "rate_limited",
            f"the key allows {key.rate} requests a minute",
            {"Retry-After": str(wait)},
        )
    return principal


async def _find_key(state: ServerState, token: str, now: datetime) -> ApiKey | None:
    """Return the key of a token, from the store at most every few seconds."""
    key = state.keys.get(token, now)
    if key is None:
        try:
            key = await within(KEY_DEADLINE, state.store.read(find_key, token))
        except (StoreError, TimeoutError) as error:
            # The store is down: go on for some time with what was known, so that the proxy can.
            key = state.keys.get(token, now, KNOWN_WITHOUT_STORE)
            if key is None:
                raise Refused(
                    503, "store_unavailable", "the key can't be read; try again", RETRY_LATER
                ) from error
            return key
        if key is not None:
            state.keys.put(token, key, now)
    return key


Caller = Annotated[Principal, Depends(authenticate)]


def require(right: Right) -> Callable[[Principal], Principal]:
    """Return a dependency that gives who asks, and answers 403 without a right."""

    def check(principal: Caller) -> Principal:
        if right not in principal.rights:
            raise Refused(403, "forbidden", f"the key lacks the right to {right}")
        return principal

    return check


Reader = Annotated[Principal, Depends(require("read"))]
Writer = Annotated[Principal, Depends(require("write"))]
Administrator = Annotated[Principal, Depends(require("administer"))]

UserName = Annotated[str, Path(min_length=1, description="The person, by name or id.")]
AgentName = Annotated[
    str | None,
    Query(min_length=1, description="The agent that talks with the person; default `default`."),
]


def bind(
    principal: Principal, user: str | None, agent: str | None
) -> tuple[str | None, str | None]:
    """Return the user and agent that a request is about: those named, else those of the key.

    Answers 403 for one that the key is not for, the same whether it exists or not.
    """
    user, agent = user or principal.user, agent or principal.agent
    if principal.user not in (None, user) or principal.agent not in (None, agent):
        raise Refused(403, "forbidden", "the key is for another user or agent")
    return user, agent


def open_memory(
    request: Request, principal: Principal, user: str, agent: str | None
) -> AsyncUserMemory:
    """Return the memory of a user. Answers 403 for one that the key is not for."""
    _, agent = bind(principal, user, agent)
    state: ServerState = request.app.state.server
    return state.client.user(user, agent=agent or "default", tenant=principal.tenant)


def _readable(
    request: Request, principal: Reader, user: UserName, agent: AgentName = None
) -> AsyncUserMemory:
    return open_memory(request, principal, user, agent)


def _writable(
    request: Request, principal: Writer, user: UserName, agent: AgentName = None
) -> AsyncUserMemory:
    return open_memory(request, principal, user, agent)


Readable = Annotated[AsyncUserMemory, Depends(_readable)]
"""The memory of the user in the path, for a key that may read."""
Writable = Annotated[AsyncUserMemory, Depends(_writable)]
"""The memory of the user in the path, for a key that may write."""


def _unauthorized(detail: str) -> Refused:
    return Refused(401, "unauthorized", detail, {"WWW-Authenticate": "Bearer"})


def _check_local(request: Request) -> None:
    """Refuse requests without a key that a page of another site, or machine, has sent."""
    host = (request.url.hostname or "").strip("[]")
    if not is_loopback(host) or (request.client and not is_loopback(request.client.host)):
        raise _unauthorized("without keys, only this machine may ask, by a loopback address")
    origin = request.headers.get("origin")
    if origin and origin != f"{request.url.scheme}://{request.url.netloc}":
        raise _unauthorized("without keys, pages of other sites may not ask")


def is_loopback(host: str) -> bool:
    """Whether a host's name or address is this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
