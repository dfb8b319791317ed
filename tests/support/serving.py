"""Run a web application in worker processes on loopback, and send it requests."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

START_LIMIT = 60
"""Seconds within which the workers must listen."""


@contextmanager
def serve(
    folder: Path, *, workers: int, environment: Mapping[str, str], application: str = "app:app"
) -> Generator[str]:
    """Run uvicorn in a folder and give its URL; its workers are stopped at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", application, "--workers", str(workers)]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--log-level", "warning", "--no-access-log"],
        cwd=folder,
        env={**os.environ, **environment},
    )
    try:
        _wait_for(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(START_LIMIT)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline and process.poll() is None:
        try:
            # A request, not only a connection: that is accepted before any worker has started.
            urllib.request.urlopen(f"http://127.0.0.1:{port}/openapi.json", timeout=START_LIMIT)
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"the application did not start (exit {process.poll()})")


def post(url: str, body: Mapping[str, Any] | None = None, *, method: str = "POST") -> Any:
    """Send a request and return the answer's JSON."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        url, data=data, method=method, headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=START_LIMIT) as answer:
        return json.loads(answer.read())
