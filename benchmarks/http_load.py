"""Requests to a service from a process of its own, over kept connections.

Those with a time at which they are due are sent then, or as soon as a connection is free, and their
latency counts from when they were due (an open loop).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request.

    Attributes:
        due: seconds after the start; None for as soon as possible.
        headers: its own, besides those of the load.
    """

    path: str
    body: bytes
    due: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """The outcome of a request.

    Attributes:
        number: its place among the requests.
        status: 0 if the connection was lost.
    """

    number: int
    seconds: float
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """The outcomes of all requests that were sent, and the seconds that they took."""

    answers: list[HttpAnswer]
    seconds: float

    @property
    def good(self) -> list[HttpAnswer]:
        return [answer for answer in self.answers if 200 <= answer.status < 300]

    @property
    def milliseconds(self) -> list[float]:
        """Latencies of the requests that succeeded."""
        return [1_000 * answer.seconds for answer in self.good]


@dataclass(frozen=True, slots=True)
class Load:
    """Requests to one service.

    Attributes:
        connections: requests at once, at most.
        seconds: how long requests are begun; None for all of them.
    """

    url: str
    headers: Mapping[str, str]
    requests: Sequence[HttpRequest]
    connections: int
    seconds: float | None = None


def send(load: Load) -> Sent:
    """Send requests from a new process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_send, load).result()


def _send(load: Load) -> Sent:
    return asyncio.run(_Sender(load).run())


@dataclass
class _Sender:
    load: Load
    answers: list[HttpAnswer] = field(default_factory=list[HttpAnswer])

    async def run(self) -> Sent:
        waiting = iter(enumerate(self.load.requests))
        started = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self.load.connections):
                tasks.create_task(self._connect(waiting, started))
        return Sent(answers=self.answers, seconds=time.perf_counter() - started)

    async def _connect(self, waiting: Iterator[tuple[int, HttpRequest]], started: float) -> None:
        """Send one request after the other; which one is next is shared by all connections."""
        address = urlsplit(self.load.url)
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        for number, request in waiting:
            now = time.perf_counter() - started
            if self.load.seconds is not None and now > self.load.seconds:
                break
            if request.due is not None and request.due > now:
                await asyncio.sleep(request.due - now)
            due = now if request.due is None else request.due
            status = 0
            try:
                streams = streams or await asyncio.open_connection(address.hostname, address.port)
                status = await self._exchange(*streams, request)
            except (OSError, asyncio.IncompleteReadError):
                streams = None
            took = time.perf_counter() - started - due
            self.answers.append(HttpAnswer(number, took, status))
        if streams:
            streams[1].close()

    async def _exchange(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: HttpRequest
    ) -> int:
        """Send a request and read its answer. A client library would cost more than the service."""
        lines = [f"POST {request.path} HTTP/1.1", "Host: localhost"]
        headers = {**self.load.headers, **request.headers}
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += ["Content-Type: application/json", f"Content-Length: {len(request.body)}"]
        writer.write("\r\n".join([*lines, "", ""]).encode() + request.body)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        size = head.partition("content-length:")[2].split()
        await reader.readexactly(int(size[0]))
        return int(head.split(" ", 2)[1])
