"""The proxy's routes: a provider's API under its own paths.

What has memory has a route of its own; everything else is passed on as it is.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any, cast, get_args
from urllib.parse import quote, unquote

import httpx2
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.routing import Match, Route
from starlette.types import Scope

from theanine_server.access import (
    AGENT_HEADER,
    USER_HEADER,
    Caller,
    authenticate_request,
    name_in_header,
    open_memory,
)
from theanine_server.context import Principal
from theanine_server.problems import Refused
from theanine_server.provider_paths import BASE, Provider, is_passed_on, provider_of
from theanine_server.proxy.dialects import (
    AnthropicMessages,
    ChatCompletions,
    Dialect,
    Responses,
)
from theanine_server.proxy.events import EventReader
from theanine_server.proxy.memory import Exchange, Mode, ProxyMemory, default_thread
from theanine_server.proxy.upstream import HOP_BY_HOP
from theanine_server.state import ServerState, State

_log = logging.getLogger(__name__)
router = APIRouter(tags=["proxy"])

THREAD = "Theanine-Thread"
MEMORY, RECALLED, PROFILE = "Theanine-Memory", "Theanine-Recalled", "Theanine-Profile"
MODES: tuple[Mode, ...] = get_args(Mode)

_PROXY_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "As the provider answers", "content": {"text/event-stream": {}}},
    "default": {
        "description": "As the provider answers; errors of the service have its shape, too",
        "content": {"application/json": {}},
    },
}


@router.post("/v1/chat/completions", responses=_PROXY_RESPONSES)
async def chat_completions(request: Request, state: State, principal: Caller) -> Response:
    """OpenAI's chat completions, with memory."""
    return await _forward(request, state, principal, ChatCompletions())


@router.post("/v1/responses", responses=_PROXY_RESPONSES)
async def create_response(request: Request, state: State, principal: Caller) -> Response:
    """OpenAI's responses, with memory."""
    return await _forward(request, state, principal, Responses())


@router.post("/v1/messages", responses=_PROXY_RESPONSES)
async def create_message(request: Request, state: State, principal: Caller) -> Response:
    """Anthropic's messages, with memory."""
    return await _forward(request, state, principal, AnthropicMessages())


async def pass_on(request: Request) -> Response:
    """Pass a request on to its provider, and the answer back, as they are."""
    state: ServerState = request.app.state.server
    principal = await authenticate_request(request)  # before the body is read
    provider = provider_of(request.scope)
    assert provider is not None
    path = _path(request)
    if state.upstream.lends_key(request, provider, path):
        principal.require("reply")
        if request.method == "POST" and not path.endswith("/count_tokens"):
            await state.spending.take(principal.tenant)
    has_body = {"content-length", "transfer-encoding"} & {*request.headers}
    content = request.stream() if has_body else b""
    upstream = state.upstream.request(request, provider, path, content)
    try:
        answer = await _send(state, provider, upstream)
    except ClientDisconnect:
        return Response(status_code=400)  # which nobody receives
    return _with_headers(StreamingResponse(_stream(answer), answer.status_code), answer)


class PassOnRoute(Route):
    """The route of all paths that are a provider's, whatever they are."""

    def __init__(self) -> None:
        methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
        super().__init__(f"{BASE}/{{path:path}}", pass_on, methods=methods, include_in_schema=False)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match only what is not the service's own."""
        return super().matches(scope) if is_passed_on(scope) else (Match.NONE, {})


def _path(request: Request) -> str:
    """Return a provider's path, as the client has escaped it, below its base URL."""
    path = request.scope["raw_path"].decode("latin-1")
    if {".", ".."} & {*unquote(path).split("/")}:  # it may lead out of the provider's API
        raise Refused(400, "bad_input", "leave out the parts . and .. of the path")
    if path.startswith(f"{BASE}{BASE}/"):
        raise Refused(
            404, "not_found", f"there are two {BASE} in the path; leave it out of the base URL"
        )
    return path.removeprefix(BASE)


async def _forward(
    request: Request, state: ServerState, principal: Principal, dialect: Dialect
) -> Response:
    provider = dialect.provider
    if state.upstream.lends_key(request, provider, dialect.path):
        principal.require("reply")
        await state.spending.take(principal.tenant)
    content = await request.body()
    body = _read_body(content)
    exchange = await _begin(request, state, principal, dialect, body)
    if exchange.block and body is not None:
        changed = dialect.append(body, exchange.block)
        if changed is None:
            exchange.added, exchange.recalled = 0, ()
        else:
            content = json.dumps(changed, ensure_ascii=False).encode("utf-8", "surrogatepass")
    upstream = state.upstream.request(request, provider, dialect.path, content, readable=True)
    answer = await _send(state, provider, upstream)
    if answer.headers.get("content-type", "").startswith("text/event-stream"):
        stream = _pass_on(answer, dialect, exchange, state.proxy_memory)
        response: Response = StreamingResponse(stream, answer.status_code)
    else:
        try:
            received = await answer.aread()
        except httpx2.HTTPError as error:
            raise _unreachable(error) from None
        if answer.is_success and (reply := _read_body(received)) is not None:
            replies = dialect.replies(reply)
            ending = state.proxy_memory.end_soon(exchange, replies, whole=True)
            await asyncio.wait({ending}, timeout=state.proxy_memory.deadline)
        response = Response(received, answer.status_code)
    response.headers.update(_memory_headers(exchange))
    return _with_headers(response, answer, decoded=True)


async def _begin(
    request: Request,
    state: ServerState,
    principal: Principal,
    dialect: Dialect,
    body: dict[str, Any] | None,
) -> Exchange:
    """Log and recall for a request, as far as its headers and its key allow."""
    asked = request.headers.get(MEMORY, "on")
    if asked not in MODES:
        raise Refused(422, "bad_input", f"{MEMORY} must be one of {', '.join(MODES)}")
    mode = _allowed(asked, principal)
    user = name_in_header(request, USER_HEADER) or principal.user
    if mode == "off" or body is None:
        return Exchange("off")
    if user is None:
        if state.options.require_user:
            raise Refused(
                400, "user_needed", f"name the user: send {USER_HEADER}, or use a key of one user"
            )
        return Exchange("no user")
    memory = open_memory(request, principal, user, name_in_header(request, AGENT_HEADER))
    messages = dialect.messages(body)
    thread = name_in_header(request, THREAD) or default_thread(messages)
    after = body.get("previous_response_id") or body.get("conversation") or ""
    profile = request.headers.get(PROFILE, "off")
    if profile not in ("on", "off"):
        raise Refused(422, "bad_input", f"{PROFILE} must be on or off")
    return await state.proxy_memory.begin(
        memory, thread, messages, mode, str(after), profile=profile == "on"
    )


def _allowed(asked: Mode, principal: Principal) -> Mode:
    """Return what both a request and its key allow."""
    reads = asked in ("on", "read") and "read" in principal.rights
    writes = asked in ("on", "write") and "write" in principal.rights
    if reads and writes:
        return "on"
    return "read" if reads else "write" if writes else "off"


async def _stream(answer: httpx2.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_raw():
            yield chunk
    finally:
        await answer.aclose()


async def _send(state: ServerState, provider: Provider, request: httpx2.Request) -> httpx2.Response:
    try:
        answer = await state.upstream.http.send(request, stream=True)
    except httpx2.HTTPError as error:
        raise _unreachable(error) from None
    if answer.status_code == 404 and (url := state.upstream.without_path(provider)):
        _log.warning(
            "proxy: %s has no %s; if its API is below %s, the option --%s-url must end with it",
            url,
            request.url.path,
            BASE,
            provider,
        )
    return answer


async def _pass_on(
    answer: httpx2.Response, dialect: Dialect, exchange: Exchange, memory: ProxyMemory
) -> AsyncIterator[bytes]:
    """Yield a stream as it comes, and log what was received, however it ends."""
    events, reader = EventReader(), dialect.reader()
    try:
        async for chunk in answer.aiter_bytes():
            for event in events.feed(chunk):
                reader.read(event)
            yield chunk
    finally:
        # A client that is gone cancels this generator, but not the task.
        ending = memory.end_soon(exchange, reader.messages(), whole=reader.ended)
        await answer.aclose()
        await asyncio.wait({ending}, timeout=memory.deadline)


def _memory_headers(exchange: Exchange) -> dict[str, str]:
    headers = {MEMORY: exchange.status, RECALLED: str(exchange.added)}
    if exchange.thread:
        headers[THREAD] = quote(exchange.thread)
    return headers


def _with_headers(
    response: Response, answer: httpx2.Response, *, decoded: bool = False
) -> Response:
    """Return a response with the headers of the provider's answer, whose content may be decoded."""
    left_out = HOP_BY_HOP | {"date"}  # the server sets its own, and there may be only one
    if decoded:
        left_out |= {"content-encoding", "content-length"}
    for name, value in answer.headers.multi_items():
        if name.lower() not in left_out:
            response.headers.append(name, value)
    return response


def _read_body(content: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _unreachable(error: Exception) -> Refused:
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Refused(502, "provider_unreachable", f"the provider can't be reached ({reason})")
