"""The page's files, which contain no data and need no key."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from theanine_server.page.assets import INDEX, POLICY, load_assets
from theanine_server.problems import Refused

router = APIRouter(include_in_schema=False)

HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@router.get("/")
async def index(request: Request) -> Response:
    """Return the page."""
    return _send(request, INDEX)


@router.get("/page/{name}")
async def asset(request: Request, name: str) -> Response:
    """Return a file of the page."""
    return _send(request, name)


def _send(request: Request, name: str) -> Response:
    asset = load_assets().get(name)
    if asset is None:
        raise Refused(404, "not_found", f"the page has no file {name}")
    headers = HEADERS | {"ETag": asset.etag, "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == asset.etag:
        return Response(status_code=304, headers=headers)
    if takes_gzip(request):
        headers["Content-Encoding"] = "gzip"
        return Response(asset.gzipped, media_type=asset.media_type, headers=headers)
    return Response(asset.content, media_type=asset.media_type, headers=headers)


def takes_gzip(request: Request) -> bool:
    """Whether the client reads what is compressed with gzip."""
    return "gzip" in request.headers.get("accept-encoding", "")
