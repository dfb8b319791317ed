"""Forgetting after a pause: see what would go, hide it at once, undo it, or have it erased."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from theanine.errors import BadInput
from theanine.store.sql.hiding import Forgetting, preview_forgetting
from theanine_server import operations as work
from theanine_server.access import Readable, Writable
from theanine_server.bodies import JsonBody, JsonRoute
from theanine_server.operations import Operation
from theanine_server.problems import responses, write_responses
from theanine_server.routes.records import Id
from theanine_server.state import State

router = APIRouter(prefix="/v1/users/{user}/forgetting", route_class=JsonRoute, tags=["records"])

OperationId = Annotated[str, Path(min_length=1)]


class NewForgetting(BaseModel, extra="forbid"):
    """The data to forget: one session, one memory, or everything of the user."""

    session: Id | None = None
    memory: Id | None = None
    everything: bool = False
    pause: int = Field(
        default=30, ge=0, le=86_400, description="Seconds until it is erased; it is hidden at once."
    )


@router.get("/preview", name="preview_forgetting", responses=responses(404))
async def preview(
    state: State,
    memory: Writable,
    session: Annotated[Id | None, Query()] = None,
    number: Annotated[Id | None, Query(alias="memory")] = None,
) -> Forgetting:
    """Return what forgetting a session, a memory or, with neither, the user would erase."""
    return await state.store.write(preview_forgetting, memory.scope, session=session, memory=number)


@router.get("", responses=responses())
async def list_forgetting(state: State, memory: Readable) -> list[Operation]:
    """Return what is hidden and not erased yet, the newest first."""
    return await state.store.read(work.list_forgetting, memory.scope)


@router.post("", status_code=202, responses=write_responses(404))
async def begin_forgetting(
    state: State, memory: Writable, new: JsonBody[NewForgetting]
) -> Operation:
    """Hide something at once, and erase it after a pause, also if the service restarts.

    Its operation has the receipt once it is erased. Until then, what is added to it is erased with
    it, and an export still has it.
    """
    if sum((new.session is not None, new.memory is not None, new.everything)) != 1:
        raise BadInput("name one session or memory to forget, or everything")
    operation = await state.store.write(
        work.begin_forgetting,
        memory.scope,
        session=new.session,
        memory=new.memory,
        at=state.clock(),
        pause=timedelta(seconds=new.pause),
    )
    state.operations.wake()
    return operation


@router.post("/{operation}/undo", responses=write_responses(404))
async def undo_forgetting(state: State, memory: Writable, operation: OperationId) -> Operation:
    """Show something again; 409 once it is being erased."""
    return await state.store.write(work.undo_forgetting, memory.scope, operation, state.clock())


@router.post("/{operation}/confirm", status_code=202, responses=write_responses(404))
async def confirm_forgetting(state: State, memory: Writable, operation: OperationId) -> Operation:
    """Erase something without the rest of its pause."""
    confirmed = await state.store.write(work.confirm_forgetting, memory.scope, operation)
    state.operations.wake()
    return confirmed
