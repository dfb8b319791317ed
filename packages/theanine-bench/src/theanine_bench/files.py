"""Hashes and atomic writes of files."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def hash_files(path: Path) -> str:
    """SHA-256 of a file, or of all files of a folder with their names, in order."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            digest.update(f"{file.relative_to(path)}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def write_atomically(file: Path, text: str) -> None:
    """Replace a file in one step: a kill leaves the old one or the new one."""
    part = file.with_name(f".{file.name}.part")
    with part.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    part.replace(file)
