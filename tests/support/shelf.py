"""A real web server on loopback that has files, and faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

Cut = Callable[[int], int | None]
"""How many bytes of the n-th answer are sent before the connection is cut; None for all."""


@dataclass
class Shelf:
    """Serves ``files`` by path.

    Attributes:
        moved: paths that are sent on to another URL.
        failing: how often a path answers with 503 before it answers at all.
        asked: the requests that came, as (path, its Range or "").
        tags: whether answers have an ETag, so that a cut file can be gone on with.
    """

    files: Mapping[str, bytes]
    moved: Mapping[str, str] = field(default_factory=dict[str, str])
    failing: dict[str, int] = field(default_factory=dict[str, int])
    cut: Cut = lambda n: None
    tags: bool = True
    lengths: bool = True
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def __enter__(self) -> Self:
        shelf = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                shelf.answer(self)

            def log_message(self, format: str, *args: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, to: BaseHTTPRequestHandler) -> None:
        wanted = to.headers.get("Range", "")
        self.asked.append((to.path, wanted))
        to.close_connection = True
        if to.path in self.moved:
            to.send_response(302)
            to.send_header("Location", self.moved[to.path])
            to.send_header("Content-Length", "0")
            to.end_headers()
        elif self.failing.get(to.path, 0):
            self.failing[to.path] -= 1
            to.send_error(503)
        elif to.path not in self.files:
            to.send_error(404)
        else:
            self._send(to, wanted)

    def _send(self, to: BaseHTTPRequestHandler, wanted: str) -> None:
        body = self.files[to.path]
        tag = f'"{hash(body):x}"'
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        goes_on = bool(wanted) and to.headers.get("If-Range") == tag
        if goes_on and start >= len(body):
            to.send_error(416)
            return
        rest = body[start:] if goes_on else body
        to.send_response(206 if goes_on else 200)
        if goes_on:
            to.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if self.tags:
            to.send_header("ETag", tag)
        if self.lengths:
            to.send_header("Content-Length", str(len(rest)))
        to.send_header("Connection", "close")
        to.end_headers()
        sent = self.cut(len(self.asked))
        to.wfile.write(rest if sent is None else rest[:sent])
        to.wfile.flush()
