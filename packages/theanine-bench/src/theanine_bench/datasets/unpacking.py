"""Unpacks archives that come from elsewhere: only plain files, only inside the folder, not endless.

Every member is looked at before the first is written; one that would go elsewhere, or that is a
link or a device, has the whole archive refused.
"""

from __future__ import annotations

import stat
import tarfile
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from theanine.errors import FetchFailed

MAX_BYTES = 20_000_000_000
"""What an archive may hold, unpacked."""
MAX_MEMBERS = 200_000
_BLOCK = 1 << 20
_NOISE = ("__MACOSX", ".DS_Store")


def unpack(archive: Path, kind: str, folder: Path, *, max_bytes: int = MAX_BYTES) -> list[str]:
    """Unpack a ``tar`` (compressed or not) or ``zip`` into a folder, and return what it held.

    Raises FetchFailed for a broken archive, one that reaches outside the folder, and one that
    holds more than ``limit`` bytes.
    """
    members = _tar if kind == "tar" else _zip
    places: list[str] = []
    try:
        with members(archive) as found:
            total = 0
            for name, size, _ in found:
                total += size
                if total > max_bytes or len(places) >= MAX_MEMBERS:
                    raise FetchFailed(f"{archive.name} holds more than expected; nothing was kept")
                places.append(_safe(name, archive))
            for place, (_, size, opened) in zip(places, found, strict=True):
                _write(opened(), size, folder / place)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, ValueError) as error:
        raise FetchFailed(f"{archive.name} is no whole {kind} archive: {error}") from None
    return [place for place in places if not set(PurePosixPath(place).parts) & set(_NOISE)]


class _Opener:
    """Opens one member when it is its turn."""

    def __init__(self, archive: tarfile.TarFile | zipfile.ZipFile, member: object) -> None:
        self._archive, self._member = archive, member

    def __call__(self) -> IO[bytes]:
        if isinstance(self._archive, zipfile.ZipFile) and isinstance(self._member, zipfile.ZipInfo):
            return self._archive.open(self._member)
        if isinstance(self._archive, tarfile.TarFile) and isinstance(self._member, tarfile.TarInfo):
            stream = self._archive.extractfile(self._member)
            if stream is not None:
                return stream
        raise ValueError("a member that can't be opened")


Members = list[tuple[str, int, _Opener]]


@contextmanager
def _tar(archive: Path) -> Generator[Members]:
    with tarfile.open(archive) as tar:
        found: Members = []
        for member in tar:
            if member.isdir():
                continue
            if not member.isreg():
                raise FetchFailed(f"{archive.name} holds {member.name!r}, which is no plain file")
            found.append((member.name, member.size, _Opener(tar, member)))
        yield found


@contextmanager
def _zip(archive: Path) -> Generator[Members]:
    with zipfile.ZipFile(archive) as zipped:
        found: Members = []
        for member in zipped.infolist():
            mode = member.external_attr >> 16
            if member.is_dir():
                continue
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                raise FetchFailed(
                    f"{archive.name} holds {member.filename!r}, which is no plain file"
                )
            found.append((member.filename, member.file_size, _Opener(zipped, member)))
        yield found


def _safe(name: str, archive: Path) -> str:
    """The member's place in the folder. Raises FetchFailed where it would be outside."""
    windows, posix = PureWindowsPath(name), PurePosixPath(name)
    outside = windows.drive or windows.root or posix.is_absolute()
    if outside or ".." in windows.parts or ".." in posix.parts or not posix.parts:
        raise FetchFailed(f"{archive.name} reaches outside its folder with {name!r}: refused")
    return str(posix)


def _write(source: IO[bytes], size: int, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with source, target.open("wb") as out:
        while block := source.read(_BLOCK):
            written += len(block)
            if written > size:
                raise ValueError("a member is longer than it says")
            out.write(block)
    if written != size:
        raise ValueError("a member is shorter than it says")
