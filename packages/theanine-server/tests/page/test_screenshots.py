"""The pictures in the documents: a command takes them, and they are those that are shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.browser import needs_browser

ROOT = Path(__file__).parents[4]
IMAGES = ROOT / "docs" / "images"
MOST = 100_000
"""Bytes of a picture."""
SHOWN = re.compile(r"images/([\w-]+\.(?:webp|svg))")


def test_every_picture_is_shown_and_small() -> None:
    documents = (ROOT / "README.md", ROOT / "docs" / "page.md")
    shown = {name for path in documents for name in SHOWN.findall(path.read_text("utf-8"))}
    assert {path.name for path in IMAGES.iterdir()} == shown
    assert [path.name for path in IMAGES.iterdir() if path.stat().st_size > MOST] == []


@pytest.mark.browser
@needs_browser
def test_the_command_takes_all_pictures(tmp_path: Path) -> None:
    command = [sys.executable, ROOT / "docs" / "screenshots.py", "--folder", tmp_path]
    path = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    subprocess.run(command, check=True, timeout=600, env=os.environ | {"PYTHONPATH": path})
    assert {path.name for path in tmp_path.iterdir()} == {p.name for p in IMAGES.glob("*.webp")}
    assert all(path.read_bytes()[8:12] == b"WEBP" for path in tmp_path.iterdir())
