"""The graph of a user's memories in one answer, for drawing it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from theanine.methods.registry import stored_method
from theanine.page.graph import MemoryGraph
from theanine.server.access import Readable
from theanine.server.problems import responses
from theanine.server.state import ServerState

router = APIRouter(prefix="/v1/users/{user}/graph", tags=["records"])


@router.get("", response_model=MemoryGraph, responses=responses())
async def graph(
    request: Request,
    memory: Readable,
    method: Annotated[
        str | None, Query(min_length=1, description="Default: the service's method.")
    ] = None,
) -> Response:
    """Return all memories of a method with their links, in topics; for details, read a memory."""
    state: ServerState = request.app.state.server
    content = await state.graphs.read(
        memory.scope, stored_method(method or state.client.method_name)
    )
    # As it is: the framework would validate each of some thousand memories again.
    return Response(content, media_type="application/json")
