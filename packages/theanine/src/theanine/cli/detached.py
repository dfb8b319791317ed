"""Start this program in a process of its own, which goes on when this one and its host are gone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

NAME = "theanine"
"""The name of the program, and of the server in a host's list."""
FINISHING = "--finish"
"""Option of ``theanine remember`` that names a user whose import is to be finished."""


def own_command() -> list[str]:
    """Return what starts this installation of theanine, from any folder."""
    script = Path(sys.executable).with_name("theanine.exe" if sys.platform == "win32" else NAME)
    return [str(script)] if script.exists() else [sys.executable, "-m", NAME]


def start_detached(
    arguments: Sequence[str], text: str = "", environment: Mapping[str, str] | None = None
) -> None:
    """Start theanine with arguments, ``text`` on its standard input and nothing of its output.

    ``environment`` has variables besides this process's own, such as what nobody else may read.
    """
    detached: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        detached = {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NO_WINDOW}
    process = subprocess.Popen(
        [*own_command(), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
        text=True,
        encoding="utf-8",
        **detached,
    )
    assert process.stdin is not None
    process.stdin.write(text)
    process.stdin.close()
