"""Server-sent events, read from the bytes of a stream while these are passed on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

MAX_EVENT = 16 << 20
"""Maximum bytes of an event; longer ones are ignored."""


class EventReader:
    """Splits bytes into events and yields their data where that is a JSON object."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[Mapping[str, Any]]:
        """Yield the events that a chunk completes."""
        self._line += chunk
        *lines, rest = self._line.split(b"\n")
        self._line = rest if len(rest) <= MAX_EVENT else bytearray()
        for line in lines:
            yield from self._read_line(bytes(line.rstrip(b"\r")))

    def _read_line(self, line: bytes) -> Iterator[Mapping[str, Any]]:
        if line.startswith(b"data:"):
            self._size += len(line)
            if self._size <= MAX_EVENT:
                self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            data, self._data, self._size = b"\n".join(self._data), [], 0
            try:
                value = json.loads(data)
            except (ValueError, RecursionError):  # such as [DONE]
                return
            if isinstance(value, dict):
                yield cast("Mapping[str, Any]", value)
