"""The wording of each command's help, as snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.running import Terminal
from support.snapshots import check_snapshot
from theanine.cli.app import SERVER_COMMANDS

SNAPSHOTS = Path(__file__).with_name("snapshots")


@pytest.mark.parametrize("name", SERVER_COMMANDS)
def test_help(name: str, run: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = run.bare(name, "--help").out
    assert max(map(len, shown.splitlines())) <= 80
    check_snapshot(SNAPSHOTS / f"{name}-help.txt", shown)
