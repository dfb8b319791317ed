"""The proxy's routes: a provider's API under its own paths."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, cast, get_args
from urllib.parse import quote

import httpx2
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from theanine.server.access import (
    AGENT_HEADER,
    USER_HEADER,
    Caller,
    name_in_header,
    open_memory,
)
from theanine.server.context import Principal
from theanine.server.problems import Refused, responses
from theanine.server.proxy.dialects import (
    AnthropicMessages,
    ChatCompletions,
    Dialect,
    Responses,
)
from theanine.server.proxy.events import EventReader
from theanine.server.proxy.memory import Exchange, Mode, ProxyMemory, default_thread
from theanine.server.proxy.upstream import HOP_BY_HOP
from theanine.server.state import ServerState, State

router = APIRouter(tags=["proxy"])

THREAD = "Theanine-Thread"
MEMORY, RECALLED = "Theanine-Memory", "Theanine-Recalled"
MODES: tuple[Mode, ...] = get_args(Mode)

_PROXY_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "As the provider answers", "content": {"text/event-stream": {}}},
    **responses(502),
    "default": {"description": "As the provider answers", "content": {"application/json": {}}},
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


@router.get("/v1/models", responses=_PROXY_RESPONSES)
async def models(request: Request, state: State, principal: Caller) -> Response:
    """The provider's models; Anthropic's for requests that have `anthropic-version`."""
    dialect = "anthropic" if "anthropic-version" in request.headers else "openai"
    if state.upstream.lends_key(request, dialect):
        principal.require("reply")
    upstream = state.upstream.request(request, dialect, "/models", b"")
    answer = await _send(state, upstream)
    content = await answer.aread()
    return Response(content, answer.status_code, _answer_headers(answer))


async def _forward(
    request: Request, state: ServerState, principal: Principal, dialect: Dialect
) -> Response:
    if state.upstream.lends_key(request, dialect.name):
        principal.require("reply")
        await state.spending.take(principal.tenant)
    content = await request.body()
    body = _read_body(content)
    exchange = await _begin(request, state, principal, dialect, body)
    if exchange.block and body is not None:
        changed = dialect.append(body, exchange.block)
        if changed is None:
            exchange.block, exchange.recalled = "", ()
        else:
            content = json.dumps(changed, ensure_ascii=False).encode("utf-8", "surrogatepass")
    answer = await _send(
        state, state.upstream.request(request, dialect.name, dialect.path, content)
    )
    headers = {**_answer_headers(answer), **_memory_headers(exchange)}
    if answer.headers.get("content-type", "").startswith("text/event-stream"):
        stream = _pass_on(answer, dialect, exchange, state.proxy_memory)
        return StreamingResponse(stream, answer.status_code, headers)
    try:
        received = await answer.aread()
    except httpx2.HTTPError as error:
        raise _unreachable(error) from None
    if answer.is_success and (reply := _read_body(received)) is not None:
        replies = dialect.replies(reply)
        ending = state.proxy_memory.end_soon(exchange, replies, whole=True)
        await asyncio.wait({ending}, timeout=state.proxy_memory.deadline)
    return Response(received, answer.status_code, headers)


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
        return Exchange("no user")
    memory = open_memory(request, principal, user, name_in_header(request, AGENT_HEADER))
    messages = dialect.messages(body)
    thread = name_in_header(request, THREAD) or default_thread(messages)
    after = body.get("previous_response_id") or body.get("conversation") or ""
    return await state.proxy_memory.begin(memory, thread, messages, mode, str(after))


def _allowed(asked: Mode, principal: Principal) -> Mode:
    """Return what both a request and its key allow."""
    reads = asked in ("on", "read") and "read" in principal.rights
    writes = asked in ("on", "write") and "write" in principal.rights
    if reads and writes:
        return "on"
    return "read" if reads else "write" if writes else "off"


async def _send(state: ServerState, request: httpx2.Request) -> httpx2.Response:
    try:
        return await state.upstream.http.send(request, stream=True)
    except httpx2.HTTPError as error:
        raise _unreachable(error) from None


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
    headers = {MEMORY: exchange.status, RECALLED: str(len(exchange.recalled))}
    if exchange.thread:
        headers[THREAD] = quote(exchange.thread)
    return headers


def _answer_headers(answer: httpx2.Response) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name not in HOP_BY_HOP}


def _read_body(content: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _unreachable(error: Exception) -> Refused:
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Refused(502, "provider_unreachable", f"the provider can't be reached ({reason})")
