"""Start this program in a process of its own, which goes on when this one and its host are gone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from theanine.cli.coding_agents.commands import own_command

VECTORS = "--vectors"
"""Option of ``theanine remember`` that remembers nothing and only makes the vectors of the log."""


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
