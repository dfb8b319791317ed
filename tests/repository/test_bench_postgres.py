"""The benchmark of many users runs, loses no turn, and shows every figure."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_quick_run_loses_no_turn(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    program = str(ROOT / "benchmarks" / "postgres.py")
    options = ["--quick", "--stores", "sqlite", "--json", str(file)]
    run = subprocess.run([sys.executable, program, *options], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    [column] = json.loads(file.read_text("utf-8"))
    figures = {figure["name"]: figure["value"] for figure in column["figures"]}
    assert figures["turns heard, on disk"] > 0
    assert figures["turns heard, lost or doubled"] == 0
    assert figures["turns heard, errors"] == figures["recall, saturated, errors"] == 0
    assert len(run.stdout.splitlines()) > len(figures)
