"""Editors see every signature of the synchronous API, with Jedi too."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

from support.tree import ROOT

jedi: Any = import_module("jedi")  # it has no types
PROGRAM = """import theanine
client = theanine.open("memory.db")
ana = client.user("ana")
live = ana.session("thread-42")
"""


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    jedi.settings.cache_directory = tmp_path_factory.mktemp("jedi")


def signatures(call: str) -> list[str]:
    """Return the signatures that an editor shows within the brackets of a call."""
    script = jedi.Script(f"{PROGRAM}{call}")
    return [each.to_string() for each in script.get_signatures()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "parameters"),
    [
        ("theanine.open(", ["location", "method", "model", "redact", "-> Client"]),
        ("theanine.Client(", ["inner"]),
        ("client.user(", ["user", "agent", "tenant", "-> UserMemory"]),
        ("ana.add(", ["messages", "session", "metadata", "-> AddReport"]),
        ("ana.recall(", ["dialogue", "budget", "limit", "where", "-> Recollection"]),
        ("ana.memories(", ["limit"]),
        ("live.hear(", ["words", "speaker", "at", "-> Turn"]),
        ("live.reply(", ["stream", "system", "temperature", "tools", "budget", "-> Reply"]),
    ],
)
def test_jedi_shows_the_parameters_by_name(call: str, parameters: list[str]) -> None:
    found = signatures(call)
    assert found
    assert all(name in found[-1] for name in parameters), found


@pytest.mark.slow
def test_jedi_completes_results() -> None:
    script = jedi.Script(f"{PROGRAM}found = ana.recall('What?')\nfound.te")
    assert [each.name for each in script.complete()] == ["text"]
    script = jedi.Script(f"{PROGRAM}live.reply().tool_")
    assert [each.name for each in script.complete()] == ["tool_calls"]


@pytest.mark.slow
def test_the_stub_is_up_to_date() -> None:
    """`make docs` writes it."""
    command = [sys.executable, "tools/write_stub.py", "--check"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
