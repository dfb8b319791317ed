"""Fixtures of the SQLite store's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from theanine.store.sqlite import SqliteStore


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """An open store in an empty folder."""
    made = SqliteStore(tmp_path / "memory.db")
    await made.open()
    yield made
    await made.close()
