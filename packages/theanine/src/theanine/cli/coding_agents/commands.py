"""The commands that start theanine in a host's files."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from theanine.cli.detached import NAME


def join_words(command: Sequence[str]) -> str:
    """Return a command as the shell of this system reads it."""
    return subprocess.list2cmdline(command) if sys.platform == "win32" else shlex.join(command)


def is_ours(command: object) -> bool:
    """Whether a command runs ``theanine hook``."""
    if not isinstance(command, str):
        return False
    words = command.split()
    with suppress(ValueError):
        words = shlex.split(command, posix=os.name != "nt")
    names = [Path(word.strip("\"'").replace("\\", "/")).stem for word in words]
    return (NAME, "hook") in pairwise(names)
