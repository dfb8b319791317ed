"""The service as a process of its own, which a test may signal and kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2

from support.debian_postgres import free_port
from support.running import START

START_LIMIT = 60
"""Seconds within which a process must answer, or end."""


@dataclass
class ServeProcess:
    """A running ``theanine serve``.

    Attributes:
        errors: the lines of its standard error so far.
    """

    url: str
    process: subprocess.Popen[str]
    errors: list[str] = field(default_factory=list[str])
    reader: Thread = field(init=False)

    def __post_init__(self) -> None:
        self.reader = Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        self.errors.extend(self.process.stderr or ())

    @property
    def log(self) -> list[dict[str, Any]]:
        """Its log, where that is JSON."""
        return [json.loads(line) for line in self.errors]

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def wait(self) -> int:
        """Return its exit code."""
        return self.process.wait(START_LIMIT)

    def wait_for_all(self) -> None:
        """Wait until none of its processes is left, which all have its standard error open."""
        self.wait()
        self.reader.join(START_LIMIT)
        assert not self.reader.is_alive(), "a process goes on"

    def client(self, token: str = "") -> httpx2.Client:
        """Return an HTTP client of it."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=START_LIMIT)


@contextmanager
def serving(
    store: Path | str,
    *arguments: str,
    port: int | None = None,
    environment: Mapping[str, str] | None = None,
    wait: bool = True,
) -> Generator[ServeProcess]:
    """Run ``theanine serve`` until the block ends; it answers when the block begins."""
    port = port or free_port()
    command = [sys.executable, "-c", START, "serve", "--store", str(store), "--port", str(port)]
    process = subprocess.Popen(
        [*command, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **(environment or {})},
    )
    service = ServeProcess(f"http://127.0.0.1:{port}", process)
    try:
        if wait:
            wait_until_ready(service)
        yield service
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(START_LIMIT)
        service.reader.join(START_LIMIT)
        if process.stderr:
            process.stderr.close()


def wait_until_ready(service: ServeProcess) -> None:
    """Wait until a process is ready for requests."""
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline and service.process.poll() is None:
        try:
            if httpx2.get(f"{service.url}/ready", timeout=START_LIMIT).is_success:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.05)
    raise AssertionError(f"the service did not start: {''.join(service.errors)}")
