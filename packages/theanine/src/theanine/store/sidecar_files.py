"""Files next to a store with data that can be derived from it; each belongs to one scope."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from theanine.private_files import make_folder, owner_only

_UNFINISHED = ".part"
FORMER_NAME = "[0-9a-f]" * 16
"""Names of the vector indexes that version 0.1 kept of large scopes; nothing reads them."""
_SMALL_BYTES = 2_000_000
"""A file of this size is read in some 0.3 ms, hardly longer than a change of thread takes."""


def write_file(folder: Path, scope_id: int, name: str, parts: Sequence[bytes]) -> None:
    """Write or replace a file atomically, and remove unfinished ones of its name and former ones.

    Only one process may write at a time.
    """
    make_folder(folder)
    useless = (f"{scope_id}-{name}.*{_UNFINISHED}", f"{scope_id}-{FORMER_NAME}*")
    for old in list(folder.glob(f"{scope_id}-*")):
        if any(map(old.match, useless)):
            old.unlink(missing_ok=True)
    path = folder / f"{scope_id}-{name}.{uuid4().hex}{_UNFINISHED}"
    try:
        with open(path, "xb", opener=owner_only) as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        path.replace(file_path(folder, scope_id, name))
    except OSError:
        path.unlink(missing_ok=True)
        raise
    _sync_folder(folder)


def file_path(folder: Path, scope_id: int, name: str) -> Path:
    """Return where a scope's file of a name is."""
    return folder / f"{scope_id}-{name}"


def read_file(path: Path) -> bytes | None:
    """Return a file's content; None if there is no such file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def is_small(path: Path) -> bool:
    """Whether a file is missing, or small enough to be read in the calling thread."""
    try:
        return path.stat().st_size <= _SMALL_BYTES
    except OSError:
        return True


def delete_files(folder: Path, scope_id: int) -> None:
    """Delete all files of a scope, including unfinished ones."""
    if paths := list(folder.glob(f"{scope_id}-*")):
        for path in paths:
            path.unlink(missing_ok=True)
        _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    """Make changes of names durable; Windows does so by itself."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
