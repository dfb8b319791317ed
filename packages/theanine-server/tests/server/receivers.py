"""A receiver of webhooks on loopback."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Self

from standardwebhooks import Webhook

PATIENCE = 60.0
"""Seconds that a test waits for a message."""


@dataclass(frozen=True)
class Received:
    """A message as it came."""

    headers: Mapping[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def content(self) -> dict[str, Any]:
        return json.loads(self.body)

    def verify(self, secret: str) -> Any:
        """Return the content. Raises WebhookVerificationError for another's signature."""
        return Webhook(secret).verify(self.body, dict(self.headers))


@dataclass(frozen=True)
class Answer:
    """What a receiver answers."""

    status: int = 204
    headers: Mapping[str, str] | None = None
    body: bytes = b""
    held: Event | None = None


class Receiver:
    """Takes messages, and answers as it is told; by default with 204.

    Attributes:
        answers: what is answered first, by the kind of the message or for any.
    """

    def __init__(self, port: int = 0, tls: SSLContext | None = None) -> None:
        self.received: list[Received] = []
        self.answer: Callable[[Received], Answer] = lambda received: Answer()
        self._lock = Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                received = Received(headers, body)
                with receiver._lock:
                    receiver.received.append(received)
                    answer = receiver.answer(received)
                if answer.held is not None:
                    answer.held.wait(PATIENCE)
                try:
                    self.send_response(answer.status)
                    for name, value in (answer.headers or {}).items():
                        self.send_header(name, value)
                    if answer.status != 204:
                        self.send_header("Content-Length", str(len(answer.body)))
                    self.end_headers()
                    self.wfile.write(answer.body)
                except OSError:  # the sender is gone
                    self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:
                pass

        ThreadingHTTPServer.allow_reuse_address = True
        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}/hook"
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE)

    def of(self, kind: str) -> list[Received]:
        """Return the messages of a kind so far."""
        return [each for each in list(self.received) if each.content["type"] == kind]

    def wait(self, kind: str, number: int = 1) -> list[Received]:
        """Return the messages of a kind, once there are as many."""
        wait_until(lambda: len(self.of(kind)) >= number)
        return self.of(kind)


def wait_until(holds: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
