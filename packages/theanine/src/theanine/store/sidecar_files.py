"""Files beside a store, of what can be made anew from it; each belongs to one scope."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

_UNFINISHED = ".part"


def write(folder: Path, scope_id: int, name: str, parts: Sequence[bytes]) -> None:
    """Put a file in place of the last one of its name, whole or not at all.

    Only one writer at a time: what others left unfinished is removed.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    for left in folder.glob(f"{scope_id}-{name}.*{_UNFINISHED}"):
        left.unlink()
    part = folder / f"{scope_id}-{name}.{uuid4().hex}{_UNFINISHED}"
    try:
        with part.open("xb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        part.replace(folder / f"{scope_id}-{name}")
    except OSError:
        part.unlink(missing_ok=True)
        raise
    _settle(folder)


def read(folder: Path, scope_id: int, name: str) -> bytes | None:
    """The file's bytes, or None where there is none."""
    try:
        return (folder / f"{scope_id}-{name}").read_bytes()
    except FileNotFoundError:
        return None


def erase(folder: Path, scope_id: int) -> None:
    """Remove all files of a scope, unfinished ones too."""
    if found := list(folder.glob(f"{scope_id}-*")):
        for path in found:
            path.unlink(missing_ok=True)
        _settle(folder)


def _settle(folder: Path) -> None:
    """Make sure that names last; Windows does that by itself and opens no folders."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
