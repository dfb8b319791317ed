"""Texts as they were when somebody read them last. Delete one to have it written again."""

from __future__ import annotations

from pathlib import Path

import pytest


def check_snapshot(snapshot: Path, text: str) -> None:
    """Compare a text with a file; fails also where the file was missing, which is then written."""
    if not snapshot.exists():
        snapshot.write_text(text, "utf-8")
        pytest.fail(f"{snapshot.name} was missing and has been written: read it")
    assert text == snapshot.read_text("utf-8")
