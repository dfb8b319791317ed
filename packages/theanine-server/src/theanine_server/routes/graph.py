"""The graph of a user's memories, whole or in parts, for drawing it."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from theanine.methods.registry import stored_method
from theanine.page.graph import MemoryGraph
from theanine_server.access import Readable
from theanine_server.problems import responses
from theanine_server.routes.page import takes_gzip
from theanine_server.routes.transfer import LINES
from theanine_server.state import ServerState

router = APIRouter(prefix="/v1/users/{user}/graph", tags=["records"])


@router.get("", response_model=MemoryGraph, responses=responses())
async def graph(
    request: Request,
    memory: Readable,
    method: Annotated[
        str | None, Query(min_length=1, description="Default: the service's method.")
    ] = None,
) -> Response:
    """Return all memories of a method with their links, in topics; for details, read a memory.

    With `Accept: application/x-ndjson` it comes in parts, a line each, with the topics first that
    have the most to tell; together, the parts have all.
    """
    state: ServerState = request.app.state.server
    in_parts = LINES in request.headers.get("accept", "")
    pieces = await state.graphs.read(
        memory.scope, stored_method(method or state.client.method_name), in_parts=in_parts
    )
    headers = {"Vary": "Accept, Accept-Encoding"}
    media_type = LINES if in_parts else "application/json"
    # As it is: the framework would validate each of some thousand memories again.
    if not takes_gzip(request):
        return Response(gzip.decompress(b"".join(pieces)), media_type=media_type, headers=headers)
    headers["Content-Encoding"] = "gzip"
    return StreamingResponse(_each(pieces), media_type=media_type, headers=headers)


async def _each(pieces: tuple[bytes, ...]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
