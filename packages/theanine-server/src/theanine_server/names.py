"""Names in paths: a slash within a name is sent as ``%2F``.

ASGI gives a path whose escapes are replaced, in which such a slash looks like any other. It is
replaced before the path is matched, and put back where a name is read.
"""

from __future__ import annotations

from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

_MARK = "\ufdd0"  # a noncharacter, which hardly any name has
_ESCAPES = {_MARK: f"{_MARK}0", "/": f"{_MARK}1"}


class KeepNames:
    """Middleware that escapes slashes within names, so that routes don't split the name."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw: bytes = scope.get("raw_path") or b""
        if scope["type"] == "http" and (b"%2f" in raw.lower() or _MARK in scope["path"]):
            parts = (unquote(part) for part in raw.decode("ascii", "replace").split("/"))
            table = str.maketrans(_ESCAPES)
            scope["path"] = "/".join(part.translate(table) for part in parts)
        await self._app(scope, receive, send)


def read_name(name: object) -> object:
    """Return a name from a path with its slashes."""
    if isinstance(name, str):
        for plain, escaped in reversed(_ESCAPES.items()):
            name = name.replace(escaped, plain)
    return name
