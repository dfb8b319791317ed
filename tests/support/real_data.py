"""Real conversations and the papers' texts, which are not in the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("THEANINE_DATA") or "THEANINE_DATA is not set")
PAPERS = Path(os.environ.get("THEANINE_PAPERS") or "THEANINE_PAPERS is not set")
needs_papers = pytest.mark.skipif(
    not PAPERS.is_dir(), reason="set THEANINE_PAPERS to the folder of the papers' texts"
)


def needs_data(folder: str = ".") -> pytest.MarkDecorator:
    """Skip a test if a folder of the real data is missing."""
    return pytest.mark.skipif(
        not (DATA / folder).is_dir(), reason=f"set THEANINE_DATA to a folder with {folder}"
    )
