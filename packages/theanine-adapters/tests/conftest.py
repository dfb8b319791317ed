"""The memory that adapters are given: a store of this process, and a service over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from server.conftest import open_client

import theanine

FEAR = "I'm terrified of ships since the storm."


@pytest.fixture(params=["store", "service"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[theanine.Client]:
    """A client, without any data."""
    with open_client(request.param, str(tmp_path / "memory.db")) as client:
        yield client


@pytest.fixture
def ana(client: theanine.Client) -> theanine.UserMemory:
    """A user who has said that she is terrified of ships."""
    user = client.user("ana")
    with user.session() as session:
        session.hear(FEAR)
    return user
