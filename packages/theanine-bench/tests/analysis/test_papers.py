"""The papers' tables are as printed; see tools/check_papers.py."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.real_data import needs_papers
from support.tree import ROOT


@pytest.mark.data
@needs_papers
def test_the_papers_tables_are_as_printed() -> None:
    command = [sys.executable, str(ROOT / "tools" / "check_papers.py")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
