"""A provider on loopback that answers any request with what it received of it."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

_BOUNDARY = re.compile(rb"boundary=([^;\s]+)")


@dataclass(frozen=True)
class Received:
    """A request as it came: its target, its headers and its body, of which boundaries are alike."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass
class Mirror:
    """The provider: ``with Mirror() as mirror``.

    Attributes:
        requests: what came so far.
        status: of all answers.
        on_chunk: is called with each part of a body as it comes.
    """

    requests: list[Received] = field(default_factory=list[Received])
    status: int = 200
    on_chunk: Callable[[bytes], object] = lambda chunk: None

    def __enter__(self) -> Self:
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def answer(self) -> None:
                body = b"".join(mirror._read(self))
                head = "\n".join(f"{name}: {value}" for name, value in self.headers.items())
                if boundary := _BOUNDARY.search(head.encode()):
                    body = body.replace(boundary[1], b"boundary")
                    head = head.replace(boundary[1].decode(), "boundary")
                headers = (line.partition(": ")[::2] for line in head.splitlines())
                lowered = tuple(sorted((name.lower(), value) for name, value in headers))
                mirror.requests.append(Received(self.command, self.path, lowered, body))
                self._send(body)

            def _send(self, body: bytes) -> None:
                value: dict[str, Any] = {
                    "id": "x",
                    "data": [],
                    "method": self.command,
                    "target": self.path,
                    "digest": sha256(body).hexdigest(),
                    "results_url": "/v1/messages/batches/x/results",
                    "error": None if mirror.status < 400 else {"message": "no", "type": "mirrored"},
                }
                content, kind = json.dumps(value).encode(), "application/json"
                if "text/event-stream" in self.headers.get("Accept", ""):
                    content, kind = (
                        b"event: message\ndata: " + content + b"\n\n",
                        "text/event-stream",
                    )
                self.send_response(mirror.status)
                self.send_header("Content-Type", kind)
                self.send_header("X-Request-Id", "req-of-the-provider")
                self.send_header("Link", "<a>; rel=next")
                self.send_header("Link", "<b>; rel=prev")
                if "gzip" in self.headers.get("Accept-Encoding", ""):
                    content = gzip.compress(content, mtime=0)
                    self.send_header("Content-Encoding", "gzip")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing."""

        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            setattr(Handler, f"do_{method}", Handler.answer)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def _read(self, request: BaseHTTPRequestHandler) -> Iterator[bytes]:
        if "chunked" not in request.headers.get("Transfer-Encoding", ""):
            left = int(request.headers.get("Content-Length", 0))
            while left:
                chunk = request.rfile.read(min(left, 10_000))
                self.on_chunk(chunk)
                left -= len(chunk)
                yield chunk
            return
        while size := int(request.rfile.readline(), 16):
            chunk = request.rfile.read(size)
            request.rfile.readline()
            self.on_chunk(chunk)
            yield chunk
        request.rfile.readline()

    @property
    def url(self) -> str:
        """Its address, without ``/v1``."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"
