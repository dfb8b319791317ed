"""A server on loopback that answers each request with bytes as they are, in any form."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event, Thread
from typing import Self


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """What is sent after a request: pieces, with a pause before each but the first.

    ``reset`` ends the connection with a reset instead of regularly.
    """

    pieces: Sequence[bytes]
    pause: float = 0.0
    reset: bool = False


class RawServer:
    """Answers every request with ``answer``, then closes the connection."""

    def __init__(self, answer: RawAnswer) -> None:
        self.answer = answer
        self._closing = Event()
        self._socket = socket.create_server(("127.0.0.1", 0))

    @property
    def base_url(self) -> str:
        """The URL for ``base_url``."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def __enter__(self) -> Self:
        Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                Thread(target=self._respond, args=(connection,), daemon=True).start()

    def _respond(self, connection: socket.socket) -> None:
        answer = self.answer
        with connection, contextlib.suppress(OSError):
            _read_request(connection)
            for index, piece in enumerate(answer.pieces):
                if index and self._closing.wait(answer.pause):
                    return
                connection.sendall(piece)
            if answer.reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _read_request(connection: socket.socket) -> None:
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65_536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = next(
        int(line.partition(b":")[2])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length:")
    )
    while len(body) < length:
        body += connection.recv(65_536)
