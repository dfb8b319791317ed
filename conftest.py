"""What every test may use, and the one thing none may: the network beyond loopback."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A worker of a parallel run has the guard from its start, by its controller's PYTHONPATH.
if (started := sys.modules.get("sitecustomize")) and hasattr(started, "attempts"):
    sys.modules["support.offline.sitecustomize"] = started

from support.offline import sitecustomize
from support.running import Terminal

_OFFLINE = str(Path(sitecustomize.__file__).parent)
# Set for the whole run, so that every Python that a test starts keeps off the network too.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [_OFFLINE, os.environ.get("PYTHONPATH")]))

os.environ.pop("COLUMNS", None)  # how wide a terminal is said to be is for a test to say

# The settings of whoever runs the tests are none of theirs.
for name in [name for name in os.environ if name.startswith("THEANINE_")]:
    if name.removeprefix("THEANINE_") not in ("DATA", "PAPERS", "CITUS", "DRILL", "POSTGRES"):
        del os.environ[name]
os.environ["THEANINE_CONFIG"] = os.devnull

# How long an example takes says more about the machine than about us.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio."""
    return "asyncio"


@pytest.fixture(autouse=True)
def off_the_network() -> Iterator[None]:
    """Fails a test in which anything reached beyond loopback, even if the error was hidden."""
    before = len(sitecustomize.attempts)
    yield
    tried = sitecustomize.attempts[before:]
    assert not tried, f"the test reached for the network: {tried}"


@pytest.fixture
def run(tmp_path: Path) -> Terminal:
    """The command line on an empty store."""
    return Terminal(tmp_path / "memory.db")
