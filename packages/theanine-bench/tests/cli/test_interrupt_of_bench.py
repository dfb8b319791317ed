"""Ctrl-C in a bench that waits for a model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.dataset_samples import locomo_questions
from support.running import Terminal
from theanine.testing import ScriptedServer, answer

pytestmark = pytest.mark.slow

PATIENCE = 60.0
"""Seconds for a busy machine, far fewer than the model takes; else it is a second."""
PROGRAM = "from theanine.cli import main; main()"
RESUMED = "stopped; the same command resumes the run\n"
COMMANDS = [
    (["bench", "qa", "DATA", "--method", "memory-retrieval", "--out", "OUT"], RESUMED),
    (["compare", "--data", "DATA", "--methods", "theanine,exchange", "--out", "OUT"], RESUMED),
    (["teafarm", "make", "DATA", "--out", "OUT"], ""),
]


@pytest.mark.parametrize(("command", "advice"), COMMANDS, ids=["qa", "compare", "teafarm"])
def test_an_interrupt_stops_a_bench_and_says_what_is_safe(
    command: list[str], advice: str, run: Terminal, tmp_path: Path
) -> None:
    data, out = tmp_path / "a.json", tmp_path / "out"
    data.write_text(json.dumps(locomo_questions([["D1:1"], ["D2:1"]])))
    with ScriptedServer(answer, latency=600.0) as server:
        files = {"DATA": str(data), "OUT": str(out)}
        command = [files.get(part, part) for part in command]
        command += ["--model", "openai:gpt-4o-mini", "--base-url", server.base_url]
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *command],
            env={**os.environ, "OPENAI_API_KEY": "none"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            deadline = time.monotonic() + 60
            while not server.calls and time.monotonic() < deadline:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            interrupted = time.monotonic()
            assert process.stderr is not None
            assert process.stderr.readline() == "\n"
            assert "what is stored so far is safe" in process.stderr.readline()
            assert time.monotonic() - interrupted < PATIENCE
            assert process.wait(timeout=PATIENCE) == 130
            assert process.stderr.read().strip() == advice.strip()
        server.latency = 0
        run.bare(*command)  # resumes, or begins again
