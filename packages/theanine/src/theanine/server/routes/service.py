"""The service itself: is it alive, is it ready, who asks, and which methods there are."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel

from theanine.methods.registry import names
from theanine.server.access import Caller, Principal, Reader
from theanine.server.problems import responses
from theanine.server.state import ServerState

router = APIRouter(tags=["service"])


class Health(BaseModel):
    """The service answers."""

    status: str = "ok"


class Methods(BaseModel):
    """The method of this service's store, and all that are installed."""

    current: str
    installed: list[str]


@router.get("/health")
async def health() -> Health:
    """Return whether this process answers. Needs no key."""
    return Health()


_ANY_ERROR: dict[int | str, dict[str, Any]] = {
    status: described for status, described in responses().items() if status in (500, 503)
}


@router.get("/ready", responses=_ANY_ERROR)
async def ready(request: Request) -> Health:
    """Return whether the store can be read; 503 if not. Needs no key."""
    state: ServerState = request.app.state.server
    await state.store.active_embedder()
    return Health()


@router.get("/v1/whoami", responses=responses())
async def whoami(principal: Caller) -> Principal:
    """Return what the key opens."""
    return principal


@router.get("/v1/methods", responses=responses())
async def methods(request: Request, principal: Reader) -> Methods:
    """Return the memory methods."""
    state: ServerState = request.app.state.server
    return Methods(current=state.client.method_name, installed=list(names()))
