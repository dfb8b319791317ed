"""Usage: model calls by day, leases, pending sessions, and memories by method."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from importlib.resources import files
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from theanine.methods.registry import method_class, names
from theanine.store.sql.usage import (
    CallError,
    Lease,
    MethodCount,
    UsageLine,
    count_by_method,
    load_call_errors,
    load_leases,
    load_usage,
)
from theanine.store.values import Pending
from theanine_server.access import Readable, Reader, bind
from theanine_server.parameters import IN_DIGITS
from theanine_server.problems import responses
from theanine_server.state import ServerState

router = APIRouter(prefix="/v1", tags=["operations"])

MOST_LISTED = 500

OnlyUser = Annotated[str | None, Query(min_length=1, description="Default: all users.")]


class TenantUsage(BaseModel):
    """Model calls and errors.

    ``methods`` tells which method a step belongs to; those that all methods share are left out.
    """

    lines: list[UsageLine]
    errors: list[CallError]
    methods: dict[str, str]


class Work(BaseModel):
    """The sessions that wait to be remembered, the first 500, and who is remembering."""

    pending: list[Pending]
    leases: list[Lease]


@router.get("/usage", responses=responses())
async def usage(
    request: Request,
    principal: Reader,
    user: OnlyUser = None,
    days: Annotated[int, Query(ge=1, le=3_660), IN_DIGITS] = 30,
) -> TenantUsage:
    """Return the model calls of the last days, by day, step and model, with the newest errors."""
    state: ServerState = request.app.state.server
    user, agent = bind(principal, user, None)
    asked = (principal.tenant, user, agent, state.clock() - timedelta(days=days))
    return TenantUsage(
        lines=await state.store.read(load_usage, *asked),
        errors=await state.store.read(load_call_errors, *asked),
        methods=dict(_methods_of_steps()),
    )


@router.get("/work", responses=responses())
async def work(request: Request, principal: Reader, user: OnlyUser = None) -> Work:
    """Return what waits to be remembered in the tenant or of one user, and who is at it."""
    state: ServerState = request.app.state.server
    user, agent = bind(principal, user, None)
    pending = await state.client.pending(cancelled=True)
    return Work(
        pending=[
            each
            for each in pending
            if each.scope.tenant == principal.tenant
            and user in (None, each.scope.user)
            and agent in (None, each.scope.agent)
        ][:MOST_LISTED],
        leases=await state.store.read(load_leases, principal.tenant, user, agent),
    )


@router.get("/users/{user}/methods", responses=responses())
async def methods_of_user(request: Request, memory: Readable) -> list[MethodCount]:
    """Return how much each method has remembered of a user."""
    state: ServerState = request.app.state.server
    return await state.store.read(count_by_method, memory.scope)


@cache
def _methods_of_steps() -> dict[str, str]:
    """Return the method whose prompts have the name of a step."""
    # Of two methods in one package, the first has the prompts.
    packages = {method_class(name).__module__.rpartition(".")[0]: name for name in names()[::-1]}
    return {
        prompt.name.partition(".")[0]: method
        for package, method in packages.items()
        if (prompts := files(package) / "prompts").is_dir()
        for prompt in prompts.iterdir()
        if prompt.name.endswith(".md")
    }
