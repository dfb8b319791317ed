"""Temporary folders that go even if the process is killed: at the next start."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import Literal, get_args

from theanine.clock import system_clock

if sys.platform != "win32":
    import fcntl

Kind = Literal["import", "metrics", "resident"]
_PREFIX = "theanine-"
_NEW = 60.0  # seconds within which a new folder is locked, for certain


@contextmanager
def temporary_folder(kind: Kind) -> Generator[Path]:
    """Make a folder for as long as the block lasts.

    If the process is killed, :func:`remove_leftovers` removes it later.
    """
    folder = mkdtemp(prefix=f"{_PREFIX}{kind}-")
    try:
        with _locked(folder):
            yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers() -> None:
    """Remove the temporary folders of this user's processes that were killed.

    A process that lives holds a lock on its own, whatever container it is in.
    """
    if sys.platform == "win32":
        return
    now = system_clock().timestamp()
    for kind in get_args(Kind):
        for folder in Path(gettempdir()).glob(f"{_PREFIX}{kind}-*"):
            with suppress(OSError):  # gone meanwhile, or locked
                made = folder.lstat()
                if made.st_uid == os.getuid() and now - made.st_mtime > _NEW:
                    with _locked(folder):
                        shutil.rmtree(folder)


if sys.platform == "win32":  # folders can't be locked

    @contextmanager
    def _locked(folder: str | Path) -> Generator[None]:
        yield

else:

    @contextmanager
    def _locked(folder: str | Path) -> Generator[None]:
        """Lock a folder, unless another process has. Raises OSError."""
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        finally:
            os.close(opened)
