"""Who asks: the principal of a request, and the walls around it.

A key's tenant is the only one that its requests can name, so what belongs to another tenant is not
found, as if it did not exist.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Header, Path, Query, Request, Security
from fastapi.security import APIKeyHeader, HTTPBearer
from fastapi.security.http import HTTPAuthorizationCredentials
from pydantic import BeforeValidator

from theanine.client import AsyncUserMemory
from theanine.errors import StoreError
from theanine.store.sql.api_keys import ApiKey, Right, find_key
from theanine.types import Scope
from theanine_server.browsers import read_cookie
from theanine_server.context import Principal, context_of
from theanine_server.deadline import within
from theanine_server.idempotency import IdempotencyKey
from theanine_server.keys import is_own_key
from theanine_server.limits import SLOT, Slot
from theanine_server.names import read_name
from theanine_server.problems import RETRY_LATER, Refused
from theanine_server.state import ServerState

KEY_HEADER = "Theanine-Key"
"""Header for the key where ``Authorization`` has another one, such as a model provider's."""

USER_HEADER, AGENT_HEADER = "Theanine-User", "Theanine-Agent"
"""Headers that name the user and agent of a request without a user in its path."""

KEY_DEADLINE = 5.0
"""Maximum seconds for reading a key from the store."""
KNOWN_KEY_DEADLINE = 0.25
"""Maximum seconds for reading a key again that was read in the last minutes."""

_bearer = HTTPBearer(auto_error=False, description="A key of `theanine keys create`.")
_header = APIKeyHeader(name=KEY_HEADER, auto_error=False, description="The same key.")


async def authenticate(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)] = None,
    header: Annotated[str | None, Security(_header)] = None,
    anthropic: Annotated[str | None, Header(alias="x-api-key", include_in_schema=False)] = None,
) -> Principal:
    """Return the principal of a request. Answers 401 without a valid key, 429 above its rate.

    Also 429 if its tenant or key has too many requests at once.
    """
    if (known := getattr(request.state, "principal", None)) is not None:
        return known  # from before the body was read
    state: ServerState = request.app.state.server
    cookie = read_cookie(request)
    tokens = [header or "", bearer.credentials if bearer else "", anthropic or "", cookie]
    token = next(filter(is_own_key, tokens), "")
    if not token:
        if state.options.dev:
            _check_local(request)
            return _admit(request, Principal())
        if state.own_browser is not None:
            if state.own_browser.is_signed_in(cookie):
                return _admit(request, Principal())
            raise Refused(401, "link_needed", "open the link that `theanine open` prints")
        unknown = "the key is unknown, expired or revoked; " if any(tokens) else ""
        raise _unauthorized(
            f"{unknown}a key of the service is needed: send Authorization: Bearer KEY, or "
            f"{KEY_HEADER}: KEY"
        )
    principal = await find_principal(state, token)
    is_bound = principal.user is not None or principal.agent is not None
    slot: Slot = getattr(request.state, SLOT)
    slot.give_to(tenant=principal.tenant, key=principal.key if is_bound else None)
    request.state.token = token
    wait = state.rates.take(principal.key, principal.rate)
    if wait:
        raise Refused(
            429,
            "rate_limited",
            f"the key allows {principal.rate} requests a minute",
            {"Retry-After": str(wait)},
        )
    return _admit(request, principal)


async def find_principal(state: ServerState, token: str) -> Principal:
    """Return the principal of a token. Answers 401 unless its key is valid."""
    now = state.clock()
    key = await _find_key(state, token) if is_own_key(token) else None
    if key is None or not key.is_valid(now):
        raise _unauthorized("the key is unknown, expired or revoked")
    return Principal(
        key=key.id,
        tenant=key.tenant,
        user=key.user,
        agent=key.agent,
        rights=key.rights,
        rate=key.rate,
    )


async def authenticate_request(request: Request) -> Principal:
    """Return the principal of a request to an endpoint that takes no dependencies.

    See :func:`authenticate`.
    """
    return await authenticate(
        request, await _bearer(request), await _header(request), request.headers.get("x-api-key")
    )


def _admit(request: Request, principal: Principal) -> Principal:
    """Store the principal of the request that is being served, for its log line and audit."""
    context_of(request).principal = request.state.principal = principal
    return principal


async def _find_key(state: ServerState, token: str) -> ApiKey | None:
    """Return the key of a token, from the store at most every few seconds."""
    if key := state.keys.get(token):
        return key
    # If the store is down, the proxy goes on with what was known, and must not wait for it.
    known = state.keys.get_without_store(token)
    try:
        deadline = KEY_DEADLINE if known is None else KNOWN_KEY_DEADLINE
        key = await within(deadline, state.store.read(find_key, token))
    except (StoreError, TimeoutError) as error:
        if known is None:
            raise Refused(
                503, "store_unavailable", "the key can't be read; try again", RETRY_LATER
            ) from error
        state.keys.postpone(token)
        return known
    if key is not None:
        state.keys.put(token, key)
    return key


async def is_still_valid(request: Request) -> bool:
    """Return whether a key is still valid during a long request, such as a stream."""
    state: ServerState = request.app.state.server
    token: str | None = getattr(request.state, "token", None)
    if token is None:
        return True
    now = state.clock()
    try:
        key = await _find_key(state, token)
    except Refused:  # the store is down
        return True
    return key is not None and key.is_valid(now)


Caller = Annotated[Principal, Depends(authenticate)]


def require(right: Right) -> Callable[..., Awaitable[Principal]]:
    """Return a dependency that returns the principal, and answers 403 without a right."""

    async def check(request: Request, principal: Caller) -> Principal:
        context_of(request).right = right
        principal.require(right)
        return principal

    return check


Reader = Annotated[Principal, Depends(require("read"))]
Writer = Annotated[Principal, Depends(require("write"))]
Replier = Annotated[Principal, Depends(require("reply"))]
Administrator = Annotated[Principal, Depends(require("administer"))]

UserName = Annotated[
    str, BeforeValidator(read_name), Path(min_length=1, description="The person, by name or id.")
]
AgentName = Annotated[
    str | None,
    Query(min_length=1, description="The agent that talks with the person; default `default`."),
]


def bind(
    principal: Principal, user: str | None, agent: str | None
) -> tuple[str | None, str | None]:
    """Return the user and agent of a request: those that it names, else those of its key.

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
    memory = state.client.user(user, agent=agent or "default", tenant=principal.tenant)
    context_of(request).scope = memory.scope
    return memory


async def _readable(
    request: Request, principal: Reader, user: UserName, agent: AgentName = None
) -> AsyncUserMemory:
    return open_memory(request, principal, user, agent)


def _writing(*, repeatable: bool) -> Callable[..., Awaitable[AsyncUserMemory]]:
    """Return a dependency that returns a user's memory, and handles ``Idempotency-Key``."""

    async def open_claimed(
        request: Request,
        principal: Writer,
        user: UserName,
        agent: AgentName = None,
        idempotency_key: IdempotencyKey = None,
    ) -> AsyncUserMemory:
        memory = open_memory(request, principal, user, agent)
        content = await request.body()
        await claim_request(
            request, principal, idempotency_key, content, memory.scope, repeatable=repeatable
        )
        return memory

    return open_claimed


async def claim_request(
    request: Request,
    principal: Principal,
    key: str | None,
    content: bytes,
    scope: Scope | None = None,
    *,
    repeatable: bool = False,
) -> None:
    """Carry out a request with an ``Idempotency-Key`` once, however often it is sent.

    Args:
        content: its body, or a digest of it.
        scope: the user whom it is about.
        repeatable: whether doing it twice does no harm, so that it may be redone after a crash.
    """
    if key is not None and request.method != "GET":
        state: ServerState = request.app.state.server
        await state.claims.begin(
            request,
            tenant=principal.tenant,
            api_key=principal.key,
            key=key,
            scope=scope,
            content=content,
            repeatable=repeatable,
        )


async def _once(
    request: Request, principal: Administrator, idempotency_key: IdempotencyKey = None
) -> None:
    await claim_request(request, principal, idempotency_key, await request.body())


ONCE = Depends(_once)
"""Dependency of routes without a user that makes them accept an ``Idempotency-Key``."""


Readable = Annotated[AsyncUserMemory, Depends(_readable)]
"""The memory of the user in the path, for a key that may read."""
Writable = Annotated[AsyncUserMemory, Depends(_writing(repeatable=False))]
"""The memory of the user in the path, for a key that may write; done once per
``Idempotency-Key``."""
Repeatable = Annotated[AsyncUserMemory, Depends(_writing(repeatable=True))]
"""Like :data:`Writable`, for idempotent routes: a request is carried out again after a crash."""


def name_in_header(request: Request, header: str) -> str | None:
    """Return a name in a header: ASCII, or UTF-8 that is percent-encoded."""
    value = request.headers.get(header)
    return unquote(value) if value else None


def _unauthorized(detail: str) -> Refused:
    return Refused(401, "unauthorized", detail, {"WWW-Authenticate": "Bearer"})


def _check_local(request: Request) -> None:
    """Refuse requests without a key that a page of another site, or machine, has sent."""
    host = (request.url.hostname or "").strip("[]")
    if not is_loopback(host) or (request.client and not is_loopback(request.client.host)):
        raise _unauthorized("without keys, only this machine may ask, by a loopback address")
    # Pages of other sites are named by Origin or, in requests without CORS, by this header alone.
    site = request.headers.get("sec-fetch-site", "none")
    origin = request.headers.get("origin")
    own = f"{request.url.scheme}://{request.url.netloc}"
    if site not in ("none", "same-origin") or (origin and origin != own):
        raise _unauthorized("without keys, pages of other sites may not ask")


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine's loopback."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
