"""Files that a command writes where it was told to."""

from __future__ import annotations

import os
from pathlib import Path

from theanine.errors import SettingsError


def check_place(file: Path) -> None:
    """Raises SettingsError, before any work is done, where a file can't be written."""
    folder = file.absolute().parent
    if (
        not folder.is_dir()
        or file.is_dir()
        or not os.access(file if file.exists() else folder, os.W_OK)
    ):
        raise SettingsError(f"{file} can't be written: name a file in a folder that is there")


def write_text(file: Path, text: str) -> None:
    """Write it. Raises SettingsError where it can't be written."""
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise SettingsError(
            f"{file} can't be written ({error.strerror}); name another file"
        ) from error
