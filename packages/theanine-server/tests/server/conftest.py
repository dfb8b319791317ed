"""The service on a port of loopback, in a thread of the test."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import anyio
import httpx2
import pytest
import uvicorn
from starlette.types import ASGIApp

import theanine
from theanine.client import OpenOptions
from theanine.clock import system_clock
from theanine.store import open_store
from theanine.store.sql.api_keys import create_key
from theanine.store.sql.store import SqlStore
from theanine_server import ServerOptions, create_app

T = TypeVar("T")
START_LIMIT = 120


@dataclass(frozen=True)
class Service:
    """A running service.

    Attributes:
        url: its address.
        location: its store.
    """

    url: str
    location: str

    def key(
        self,
        *,
        tenant: str = "default",
        rights: Sequence[str] = ("read", "write", "reply"),
        **bounds: Any,
    ) -> str:
        """Return the token of a new key."""
        work = partial(
            create_key, name="test", at=system_clock(), tenant=tenant, rights=rights, **bounds
        )
        _, token = anyio.run(write_to, self.location, work)
        return token

    def client(self, token: str | None = None, **bounds: Any) -> httpx2.Client:
        """Return an HTTP client with a key; a new one unless a token is given."""
        token = self.key(**bounds) if token is None else token
        headers: Mapping[str, str] = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=START_LIMIT)


async def write_to(location: str, work: Callable[..., T]) -> T:
    """Call a function in a write transaction of a store, as another process would."""
    store = open_store(location)
    assert isinstance(store, SqlStore)
    await store.open()
    try:
        return await store.write(work)
    finally:
        await store.close()


@contextmanager
def running(
    options: ServerOptions, app: ASGIApp | None = None, **settings: Any
) -> Generator[Service]:
    """Run the service of some options, or an application around it, until the block ends.

    ``settings`` are those of the HTTP server.
    """
    config = uvicorn.Config(
        app or create_app(options), port=0, log_level="error", lifespan="on", **settings
    )
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + START_LIMIT
    while not server.started and thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.started, "the service did not start"
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Service(f"http://127.0.0.1:{port}", str(options.client.location))
    finally:
        server.should_exit = True
        thread.join(START_LIMIT)
        assert not thread.is_alive(), "the service did not stop"


@contextmanager
def open_client(
    way: str, location: str, rights: Sequence[str] = ("read", "write", "reply")
) -> Generator[theanine.Client]:
    """Open a store in this process ("store") or through a service with a key ("service")."""
    if way == "store":
        with theanine.open(location) as client:
            yield client
        return
    with (
        running(ServerOptions(OpenOptions(location))) as service,
        theanine.connect(service.url, key=service.key(rights=rights)) as client,
    ):
        yield client


@pytest.fixture
def options(tmp_path: Path) -> ServerOptions:
    """The options of the service; a test may replace some."""
    return ServerOptions(OpenOptions(str(tmp_path / "memory.db")))


@pytest.fixture
def service(options: ServerOptions) -> Generator[Service]:
    """The service with keys."""
    with running(options) as service:
        yield service


@pytest.fixture
def dev_service(options: ServerOptions) -> Generator[Service]:
    """The service without keys."""
    with running(replace(options, dev=True)) as service:
        yield service
