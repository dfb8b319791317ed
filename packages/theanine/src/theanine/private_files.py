"""Files and folders that only their owner can read, whatever the umask.

What theanine writes holds conversations. An existing file or folder keeps its permissions, so that
sharing one is its owner's decision.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def make_folder(folder: Path) -> None:
    """Create a folder, and those above it that are missing, with mode 0700. Raises OSError."""
    if not folder.is_dir():
        if folder.parent != folder:
            make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)  # one made meanwhile is fine, a file raises


def owner_only(path: str, flags: int) -> int:
    """Open a file; one that is created has mode 0600. For ``open(..., opener=owner_only)``."""
    return os.open(path, flags, 0o600)


def write_text(file: Path, text: str) -> None:
    """Write a text file in UTF-8. Raises OSError."""
    with open(file, "w", encoding="utf-8", opener=owner_only) as out:
        out.write(text)


def touch(file: Path) -> None:
    """Create an empty file if there is none; an existing one is not opened. Raises OSError."""
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
