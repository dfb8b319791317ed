"""Bytes that are piped and are no UTF-8 are named with their place, whatever the locale."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.running import Terminal

COMMANDS = (("add", "-"), ("chat",), ("import", "-", "--format", "text", "--strict"))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_the_first_bad_byte_is_named(tmp_path: Path, command: tuple[str, ...], locale: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "theanine", *command, "-u", "ana", "--store", tmp_path / "m.db"],
        input=b"user: caf\xe9 today\n",
        env={**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0"},
        capture_output=True,
        timeout=120,
    )
    said = ran.stderr.decode()
    assert ran.returncode and "not UTF-8 at byte 9 (0xe9)" in said, said
    assert "surrogate" not in said and "Traceback" not in said


@pytest.mark.parametrize("text", [(), ("-",)])
def test_what_is_piped_is_added(run: Terminal, text: tuple[str, ...]) -> None:
    assert run.typed("add", *text, "--user", "ana", text="I'm vegan.\n").code == 0
    assert run("log", "--user", "ana", "--json").json[0]["text"] == "I'm vegan."
    assert "no text to add" in run.typed("add", *text, "--user", "ana", text=" \n").err
