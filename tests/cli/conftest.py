"""A store of its own for every test."""

from __future__ import annotations

from pathlib import Path

import pytest

from running import Terminal


@pytest.fixture
def run(tmp_path: Path) -> Terminal:
    """The command line on an empty store."""
    return Terminal(tmp_path / "memory.db")
