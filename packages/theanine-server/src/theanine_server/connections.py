"""Connections: one that does not send its headers in time is closed."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_TIMEOUT = 10.0
"""Seconds that the headers of a request may take to come."""

_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class HttpProtocol(HttpToolsProtocol):
    """Reads requests; the server's own protocol waits for headers without limit."""

    _waiting: asyncio.TimerHandle | None = None
    _has_begun = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._end_waiting()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to wait for the headers of a request."""
        super().on_message_begin()
        self._has_begun = True
        if self._waiting is None:
            self._wait()

    def on_headers_complete(self) -> None:
        """Wait no longer."""
        self._end_waiting()
        super().on_headers_complete()

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(HEADER_TIMEOUT, self._close)

    def _end_waiting(self) -> None:
        self._has_begun = False
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _close(self) -> None:
        transport: Any = self.transport
        if transport.is_closing():
            return
        if self._has_begun:
            transport.write(_TOO_SLOW)
        transport.close()
