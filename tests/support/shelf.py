"""A real web server on loopback that serves files, as a plain host or as a Hub, with faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

Cut = Callable[[int], int | None]
"""Bytes of the n-th GET that are sent before the connection is cut; None for all."""
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def hub_path(file: str, repo: str = "people/talks") -> str:
    """Return the path of a data set's file on a Hub."""
    return f"/datasets/{repo}/resolve/{COMMIT}/{file}"


@dataclass
class Shelf:
    """Serves ``files`` by path.

    Attributes:
        moved: paths that redirect to another URL.
        failing: how often a path answers with 503 before it answers properly.
        asked: the GET requests, as (path, Range header or "").
        lengths: whether answers have a Content-Length.
    """

    files: Mapping[str, bytes]
    moved: Mapping[str, str] = field(default_factory=dict[str, str])
    failing: dict[str, int] = field(default_factory=dict[str, int])
    cut: Cut = lambda n: None
    lengths: bool = True
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def __enter__(self) -> Self:
        shelf = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                shelf.answer(self)

            def do_HEAD(self) -> None:
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
        if to.command == "GET":
            self.asked.append((to.path, wanted))
        to.close_connection = True
        if to.path in self.moved:
            to.send_response(302)
            to.send_header("Location", self.moved[to.path])
            to.send_header("Connection", "close")
            to.send_header("Content-Length", "0")
            to.end_headers()
        elif self.failing.get(to.path, 0):
            self.failing[to.path] -= 1
            to.send_error(503)
        elif to.path not in self.files:
            to.send_response(404)
            to.send_header("X-Error-Code", "EntryNotFound")
            to.send_header("Connection", "close")
            to.send_header("X-Repo-Commit", COMMIT)
            to.send_header("Content-Length", "0")
            to.end_headers()
        else:
            self._send(to, wanted)

    def _send(self, to: BaseHTTPRequestHandler, wanted: str) -> None:
        body = self.files[to.path]
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        to.send_response(206 if wanted else 200)
        if wanted:
            to.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        to.send_header("ETag", f'"{sha256(body).hexdigest()}"')
        to.send_header("X-Repo-Commit", COMMIT)
        if self.lengths:
            to.send_header("Content-Length", str(len(body) - start))
        to.send_header("Connection", "close")
        to.end_headers()
        if to.command == "GET":
            sent = self.cut(len(self.asked))
            to.wfile.write(body[start:] if sent is None else body[start : start + sent])
            to.wfile.flush()
