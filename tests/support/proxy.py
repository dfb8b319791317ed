"""A TCP proxy that cuts connections where a test wants them cut."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Thread
from typing import Literal

Cut = Literal["", "request", "reply"]
"""Whether a connection is cut, before a request is passed on or before its reply is."""


class CuttingProxy:
    """Passes bytes to a port of this machine until ``choose`` says where to cut.

    Args:
        port: of the server.
        choose: is given each chunk that a client sends, and returns where its connection is cut.
    """

    def __init__(self, port: int, choose: Callable[[bytes], Cut]) -> None:
        self._target = port
        self._choose = choose
        self.cuts: list[Cut] = []
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> CuttingProxy:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop
        ).result()
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        try:
            server, to_server = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            to_client.close()
            return
        cut = asyncio.Event()
        tasks = [
            asyncio.create_task(self._pass_requests(client, to_server, cut)),
            asyncio.create_task(_pass_replies(server, to_client, cut)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            to_client.transport.abort()
            to_server.transport.abort()

    async def _pass_requests(
        self, client: asyncio.StreamReader, server: asyncio.StreamWriter, cut: asyncio.Event
    ) -> None:
        while data := await client.read(65536):
            if where := self._choose(data):
                self.cuts.append(where)
                cut.set()
            if where == "request":
                return
            server.write(data)
            await server.drain()


async def _pass_replies(
    server: asyncio.StreamReader, client: asyncio.StreamWriter, cut: asyncio.Event
) -> None:
    while data := await server.read(65536):
        if cut.is_set():
            return
        client.write(data)
        await client.drain()
