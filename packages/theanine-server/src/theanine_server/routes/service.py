"""The service itself: health, readiness, the key's access, and the methods."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel

from theanine.methods.registry import names
from theanine_server.access import Caller, Reader
from theanine_server.context import Principal
from theanine_server.limits import Slots
from theanine_server.problems import RETRY_LATER, Refused, responses
from theanine_server.state import State

router = APIRouter(tags=["service"])


class Health(BaseModel):
    """The process answers requests."""

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
async def ready(request: Request, state: State) -> Health:
    """Return whether requests may come; 503 if the store can't be read. Needs no key.

    503 also when the store's file is no longer the one that is open, while all slots for requests
    are taken, and from SIGTERM on.
    """
    if state.stopping:
        raise Refused(503, "stopping", "this process is about to end", RETRY_LATER)
    slots: Slots = request.app.state.slots
    if slots.is_full("api"):
        raise Refused(503, "busy", "all slots for requests are taken", RETRY_LATER)
    await state.store.active_embedder()
    state.store.check_files()
    return Health()


@router.get("/v1/whoami", responses=responses())
async def whoami(principal: Caller) -> Principal:
    """Return what the key gives access to."""
    return principal


@router.get("/v1/methods", responses=responses())
async def methods(state: State, principal: Reader) -> Methods:
    """Return the memory methods."""
    return Methods(current=state.client.method_name, installed=list(names()))
