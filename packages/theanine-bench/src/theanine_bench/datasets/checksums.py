"""Checksums of what was fetched, kept beside the files in ``checksums.json``."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from theanine.errors import BadInput

FILE_NAME = "checksums.json"
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Checksums:
    """SHA-256 of files by their place in the folder, and of archives that were unpacked there."""

    files: Mapping[str, str] = field(default_factory=dict[str, str])
    archives: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def load(cls, folder: Path) -> Self:
        """What is kept in a folder; nothing where nothing was fetched. Raises BadInput."""
        file = folder / FILE_NAME
        if not file.exists():
            return cls()
        try:
            read = json.loads(file.read_text("utf-8"))
            return cls(files=dict(read["files"]), archives=dict(read["archives"]))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise BadInput(
                f"the checksums can't be read ({error}); remove the folder and fetch again",
                str(file),
            ) from None

    def save(self, folder: Path) -> None:
        """Write them into the folder, whole or not at all."""
        part = folder / f"{FILE_NAME}.part"
        part.write_text(json.dumps(asdict(self), indent=1, sort_keys=True), "utf-8")
        os.replace(part, folder / FILE_NAME)

    def changed_files(self, folder: Path) -> list[str]:
        """The files that are missing or are no longer what they were, in order."""
        return [
            place
            for place, sum in sorted(self.files.items())
            if not (folder / place).is_file() or sha256_of(folder / place) != sum
        ]

    def verify(self, folder: Path) -> None:
        """Raises BadInput where a file is missing or no longer what was fetched."""
        if wrong := self.changed_files(folder):
            raise BadInput(
                "it is missing or no longer what was fetched (its checksum differs); "
                "remove the folder and fetch again",
                str(folder / wrong[0]),
            )


def sha256_of(file: Path) -> str:
    """SHA-256 of a file, read in blocks."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
