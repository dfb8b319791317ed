"""The SHA-256 checksums of fetched files, recorded next to them in ``checksums.json``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from theanine.errors import BadInput
from theanine_bench.files import read_json, write_atomically

FILE_NAME = "checksums.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checksums:
    """SHA-256 of a folder's files by relative path, and of the archives unpacked into it."""

    files: Mapping[str, str] = field(default_factory=dict[str, str])
    archives: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a folder's checksums; empty if none are recorded. Raises BadInput."""
        file = folder / FILE_NAME
        if not file.exists():
            return cls()
        try:
            record = read_json(file)
            return cls(files=dict(record["files"]), archives=dict(record["archives"]))
        except (BadInput, ValueError, TypeError, KeyError) as error:
            raise BadInput(
                f"the checksums can't be read ({error}); remove the folder and fetch again",
                str(file),
            ) from None

    def save(self, folder: Path) -> None:
        """Write the checksums into the folder, atomically."""
        write_atomically(folder / FILE_NAME, json.dumps(asdict(self), indent=1, sort_keys=True))

    def changed_files(self, folder: Path) -> list[str]:
        """Return the paths of files that are missing or differ, sorted."""
        return [
            path
            for path, checksum in sorted(self.files.items())
            if not (folder / path).is_file() or sha256_of(folder / path) != checksum
        ]

    def verify(self, folder: Path) -> None:
        """Check every file. Raises BadInput naming the first that is missing or differs."""
        if changed := self.changed_files(folder):
            raise BadInput(
                "the file is missing or differs from what was fetched (checksum); "
                "remove the folder and fetch again",
                str(folder / changed[0]),
            )


def sha256_of(file: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
