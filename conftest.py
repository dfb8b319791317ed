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
    if name.removeprefix("THEANINE_") not in (
        "ATTACKS",
        "CITUS",
        "DATA",
        "DRILL",
        "PAPERS",
        "POSTGRES",
    ):
        del os.environ[name]
os.environ["THEANINE_CONFIG"] = os.devnull
os.environ["THEANINE_RESIDENT"] = "off"  # its own tests switch it on


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--passed-to", metavar="FILE", help="Write the ids of passed tests to a file.")
    parser.addoption("--passed-in", metavar="FILE", help="Leave out the tests of such a file.")


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("--passed-to")
    if file and not hasattr(config, "workerinput"):  # reports of all workers come to the controller
        config.pluginmanager.register(_PassedTests(Path(file)))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if file := config.getoption("--passed-in"):
        passed = set(Path(file).read_text("utf-8").splitlines())
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
        items[:] = [item for item in items if item.nodeid not in passed]
    # A model takes minutes; at the end it would keep all other processes waiting.
    items.sort(key=lambda item: item.get_closest_marker("model") is None)


class _PassedTests:
    """Writes the ids of passed tests, so that a second run with more installed runs the rest."""

    def __init__(self, file: Path) -> None:
        self._file, self._passed = file, set[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._passed.add(report.nodeid)
        elif report.failed:
            self._passed.discard(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._file.write_text("".join(f"{each}\n" for each in sorted(self._passed)), "utf-8")


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
