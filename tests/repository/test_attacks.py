"""Attacks that are kept outside of the repository: each says what it found, which is nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ATTACKS = os.environ.get("THEANINE_ATTACKS", "")
LIMIT = 300

pytestmark = [
    pytest.mark.slow,
    pytest.mark.server,
    pytest.mark.skipif(not ATTACKS, reason="THEANINE_ATTACKS is not set"),
]


def run(*command: str) -> str:
    done = subprocess.run(
        command,
        cwd=ATTACKS,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    return done.stdout + done.stderr


def test_the_proxy_keeps_keys_and_cookies_here() -> None:
    said = run(sys.executable, "attacks.py", "proxy")
    assert re.findall(r"provider: (\w+) cookie of A: (\w+)", said) == [("False", "False")] * 4, said


def test_no_key_makes_a_stronger_one() -> None:
    assert "makes: {" not in run(sys.executable, "attacks.py", "keys")


def test_a_hung_rebuild_keeps_no_erasure_waiting() -> None:
    said = run(sys.executable, "attacks.py", "erasure")
    assert int(re.findall(r"erasure of B succeeded after (\d+) s", said)[0]) <= 5, said


def test_forgetting_leaves_no_name() -> None:
    said = run(sys.executable, "attacks.py", "forget")
    found = re.findall(r"verified (\w+) kept \[\] name in the files (\d+)", said)
    assert found == [("True", "0")] * 2, said


def test_forgetting_keeps_the_locks() -> None:
    said = run(sys.executable, "locks.py")
    before, after = re.findall(r"locks on memory\.db.*: (\d+)", said)
    assert before == after != "0", said


@pytest.mark.skipif(not find_spec("mcp"), reason="mcp is not installed")
def test_the_server_and_a_command_have_one_store() -> None:
    theanine = str(Path(sys.executable).with_name("theanine"))
    said = run(sys.executable, "two_stores_after_forget.py", theanine)
    ended = said.rpartition("after the server ended:")[2]
    for words in ("Lisbon", "bees", "Porto", "Sundays", "Miso"):
        assert words in ended, said
    assert "1234" not in ended and "[('ok',)]" in ended, said


def test_nothing_acknowledged_is_lost_after_forgetting() -> None:
    theanine = str(Path(sys.executable).with_name("theanine"))
    for way in ("kill", "write"):  # one after the other: both listen on one port
        said = run("bash", "lost_after_forget.sh", theanine, way)
        before, _, after = said.partition("--- after")
        for number in range(1, before.count("Acknowledged") + 1):
            assert f"Acknowledged {number}." in after, said
        assert "[('ok',)]" in after, said
