"""Operations: start long work, follow, cancel and retry it; and what it costs."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from theanine.store.values import CostLine, Pending
from theanine_server import operations as work
from theanine_server.access import ONCE, Administrator, Readable, Reader, Repeatable, bind
from theanine_server.bodies import JsonBody, JsonRoute
from theanine_server.operations import Operation
from theanine_server.paging import Page, Paging, read_page
from theanine_server.parameters import Flag
from theanine_server.problems import Refused, responses, write_responses
from theanine_server.routes.records import Number
from theanine_server.state import State

router = APIRouter(prefix="/v1", route_class=JsonRoute, tags=["operations"])


class NewOperation(BaseModel, extra="forbid"):
    """Work to start."""

    kind: Literal["remember", "rebuild", "expire"]
    user: str | None = Field(default=None, min_length=1, description="Default: all users.")
    agent: str | None = Field(default=None, min_length=1, description="Default: all agents.")
    again: bool = Field(
        default=False, description="Also rebuild sessions that are already remembered."
    )
    fresh: bool = Field(default=False, description="Rebuild with new replies of the model.")


class Waiting(BaseModel):
    """How many sessions wait to be remembered now."""

    waiting: int


class Cancelled(BaseModel):
    """Whether the session was not cancelled before."""

    changed: bool


@router.post("/operations", status_code=202, responses=write_responses(), dependencies=[ONCE])
async def start_operation(
    state: State, response: Response, principal: Administrator, new: JsonBody[NewOperation]
) -> Operation:
    """Start an operation; its state is at the URL in `Location`."""
    user, agent = bind(principal, new.user, new.agent)
    options = {name: True for name in ("again", "fresh") if getattr(new, name)}
    if options and new.kind != "rebuild":
        raise Refused(422, "bad_input", "again and fresh are options of rebuild")
    operation = await state.store.write_concurrently(
        True, work.create_operation, principal.tenant, new.kind, user, agent, options, state.clock()
    )
    state.operations.wake()
    response.headers["Location"] = f"/v1/operations/{operation.id}"
    return operation


@router.get("/operations", responses=responses())
async def list_operations(state: State, principal: Reader, paging: Paging) -> Page[Operation]:
    """Return operations, the newest first."""

    async def read(limit: int) -> list[Operation]:
        return await state.store.read(
            work.list_operations,
            principal.tenant,
            principal.user,
            principal.agent,
            paging.after,
            limit,
        )

    return await read_page(paging, read, lambda operation: operation.id)


@router.get("/operations/{operation}", responses=responses(404))
async def get_operation(state: State, principal: Reader, operation: str) -> Operation:
    """Return an operation."""
    return await state.store.read(
        work.load_operation, principal.tenant, operation, principal.user, principal.agent
    )


@router.post("/operations/{operation}/cancel", responses=write_responses(404), dependencies=[ONCE])
async def cancel_operation(state: State, principal: Administrator, operation: str) -> Operation:
    """Cancel an operation; what is done stays done."""
    cancelled = await state.store.write(
        work.cancel_operation,
        principal.tenant,
        operation,
        state.clock(),
        principal.user,
        principal.agent,
    )
    state.operations.wake()
    return cancelled


@router.post(
    "/operations/{operation}/retry",
    status_code=202,
    responses=write_responses(404),
    dependencies=[ONCE],
)
async def retry_operation(state: State, principal: Administrator, operation: str) -> Operation:
    """Have an operation that failed or was cancelled begin again."""
    waiting = await state.store.write_concurrently(
        True, work.retry_operation, principal.tenant, operation, principal.user, principal.agent
    )
    state.operations.wake()
    return waiting


@router.get("/users/{user}/pending", responses=responses())
async def pending(memory: Readable, cancelled: Flag = False) -> list[Pending]:
    """Return the sessions that have ended and are not remembered yet.

    With `cancelled`, also those that nobody is to remember.
    """
    return await memory.pending(cancelled=cancelled)


@router.get("/users/{user}/costs", responses=responses())
async def costs(memory: Readable) -> list[CostLine]:
    """Return the model calls made for a user: tokens, cost and time."""
    return await memory.costs()


@router.post("/users/{user}/pending/retry", responses=write_responses(404))
async def retry_all(memory: Repeatable) -> Waiting:
    """Have all pending sessions of a user wait to be remembered, those set aside too."""
    return Waiting(waiting=await memory.retry_remembering())


@router.post("/users/{user}/pending/{session}/retry", responses=write_responses(404))
async def retry_session(memory: Repeatable, session: Number) -> Waiting:
    """Have one session wait to be remembered, also one that was set aside or cancelled."""
    return Waiting(waiting=await memory.retry_remembering(session))


@router.post("/users/{user}/pending/{session}/cancel", responses=write_responses(404))
async def cancel_session(memory: Repeatable, session: Number) -> Cancelled:
    """Never remember a session, until it is retried; it stays in the log."""
    return Cancelled(changed=await memory.cancel_remembering(session))
