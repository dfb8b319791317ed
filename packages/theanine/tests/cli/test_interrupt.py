"""Ctrl-C in a command that waits for a model."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

import theanine
from theanine.testing import ScriptedServer, answer

pytestmark = pytest.mark.slow

PATIENCE = 60.0
"""Seconds for a busy machine, far fewer than the model takes; else it is a second."""


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = str(tmp_path / "memory.db")
    with theanine.open(path) as client:
        live = client.user("ana").session()
        live.hear("I sold the boat because the engine died.")
        live.end(remember=False)
    return path


@pytest.fixture
def server() -> Generator[ScriptedServer]:
    with ScriptedServer(answer, latency=600.0) as server:
        yield server


def start(command: str, store: str, server: ScriptedServer) -> subprocess.Popen[str]:
    """Start a command, and wait until it waits for the model."""
    program = "from theanine.cli import main; main()"
    options = ["--store", store, "--method", "memory-retrieval", "--model", "openai:gpt-4o-mini"]
    options += ["--base-url", server.base_url]
    process = subprocess.Popen(
        [sys.executable, "-c", program, command, *options],
        env={**os.environ, "OPENAI_API_KEY": "none"},
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not server.calls and time.monotonic() < deadline:
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("command", ["remember", "rebuild"])
def test_an_interrupt_stops_the_command_and_says_what_is_safe(
    command: str, store: str, server: ScriptedServer
) -> None:
    with start(command, store, server) as process:
        process.send_signal(signal.SIGINT)
        interrupted = time.monotonic()
        assert process.stderr is not None
        assert process.stderr.readline() == "\n"
        assert "what is stored so far is safe" in process.stderr.readline()
        assert time.monotonic() - interrupted < PATIENCE
        assert process.wait(timeout=PATIENCE) == 130
        assert process.stderr.read() == "interrupted: the same command resumes\n"
    with theanine.open(store) as client:  # neither a lease nor the session is left behind
        assert [report.failure for report in client.remember()] == [None]


def test_a_second_interrupt_leaves_at_once(store: str, server: ScriptedServer) -> None:
    with start("remember", store, server) as process:
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        # Python itself answers the second one when the command has ended meanwhile.
        assert process.wait(timeout=PATIENCE) in (130, -signal.SIGINT)
    with theanine.open(store) as client:
        assert client.check() == ""
        assert [report.failure for report in client.remember()] == [None]


IMPORTING = """
import os, signal, sys
from theanine.cli import main

class Interrupting:
    def __set_name__(self, *_):
        os.kill(os.getpid(), signal.SIGINT)

class Finder:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            type("Class", (), {"attribute": Interrupting()})  # which 3.11 raises as another error

sys.meta_path.insert(0, Finder())
main(sys.argv[2:])
"""


@pytest.mark.parametrize("module", ["typer", "theanine.cli.inspection", "theanine_bench.cli"])
def test_an_interrupt_while_modules_are_imported_is_quiet(module: str, tmp_path: Path) -> None:
    command = ["bench", "data"] if module == "theanine_bench.cli" else ["sessions", "--store", "x"]
    ran = subprocess.run(
        [sys.executable, "-c", IMPORTING, module, *command],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ran.returncode == 130, ran
    assert "stopping; what is stored so far is safe" in ran.stderr
    assert ran.stderr.count("\n") == 2, ran
