"""The benchmark of the service runs and loses nothing; neither does a short soak."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.debian_postgres import NO_PROGRAMS

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

pytestmark = [pytest.mark.server, pytest.mark.slow]


def test_a_quick_run_loses_no_message(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    options = ["--quick", "--systems", "sqlite", "--json", str(file)]
    command = [sys.executable, str(BENCHMARKS / "over_http.py"), *options]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    [column] = json.loads(file.read_text("utf-8"))
    figures = {figure["name"]: figure["value"] for figure in column["figures"]}
    assert figures["messages acknowledged on disk"] > 0
    assert figures["messages lost or doubled"] == 0
    assert figures["recall, 100 a second offered over 50 connections, errors"] == 0
    assert "a proxied call, 20 a second, added to that, p95" in figures


@pytest.mark.skipif(bool(NO_PROGRAMS), reason=NO_PROGRAMS)
def test_a_short_soak_loses_nothing() -> None:
    command = [sys.executable, str(BENCHMARKS / "soak.py"), "--seconds", "14"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "acknowledged messages lost" in run.stdout
