"""Stream the changes of a user's data."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

import anyio
from fastapi import APIRouter, Header, Request
from fastapi.responses import StreamingResponse

from theanine.client import AsyncUserMemory
from theanine.errors import StoreError
from theanine.store.sql.positions import Change, Position, load_position
from theanine_server.access import Readable, is_still_valid
from theanine_server.problems import responses
from theanine_server.state import ServerState, State

router = APIRouter(prefix="/v1/users/{user}", tags=["events"])

POLL = 1.0
"""Seconds between checks of the store."""
SILENCE = 15
"""Checks without a change after which a comment keeps the connection alive."""


class _Events(StreamingResponse):
    media_type = "text/event-stream"


@router.get("/events", response_class=_Events, responses=responses())
async def events(
    request: Request,
    state: State,
    memory: Readable,
    last_event_id: Annotated[
        str | None,
        Header(alias="Last-Event-ID", description="Id of the event after which to continue."),
    ] = None,
) -> StreamingResponse:
    """Return changes as server-sent events, until the client leaves.

    `ready` comes first, then a `change` whenever something has changed, with the numbers of what is
    new. What changes meanwhile comes in one.
    """
    now = await state.store.read(load_position, memory.scope)
    return _Events(
        _follow(request, state, memory, now, last_event_id),
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _follow(
    request: Request,
    state: ServerState,
    memory: AsyncUserMemory,
    now: Position,
    last_event_id: str | None,
) -> AsyncIterator[str]:
    """Yield a user's changes after an event; after one of another kind, that all may be others."""
    if last_event_id is None:
        known = now
    elif (known := Position.parse(last_event_id)) is None:
        yield _event("change", Change(forgotten=True).model_dump_json(exclude_none=True), now)
        known = now
    yield _event("ready", "{}", known)
    silent = 0
    while await is_still_valid(request) and not state.stopping:
        if now != known:
            yield _event("change", now.since(known).model_dump_json(exclude_none=True), now)
            known, silent = now, 0
        elif silent >= SILENCE:
            yield ": nothing new\n\n"
            silent = 0
        with anyio.move_on_after(POLL):
            await state.stopped.wait()
        silent += 1
        try:
            now = await state.store.read(load_position, memory.scope)
        except StoreError:  # it may be back in a moment; nothing is lost by then
            continue


def _event(kind: str, data: str, position: Position) -> str:
    return f"id: {position}\nevent: {kind}\ndata: {data}\n\n"
