"""Unpack archives from untrusted sources: only plain files, inside the folder, of bounded size.

pooch's and the standard library's extraction bound neither the size nor the number of members,
and refuse links only in tar archives. Here every member is checked before the first is written,
and one bad member refuses the whole archive.
"""

from __future__ import annotations

import stat
import tarfile
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, NamedTuple

from theanine.errors import FetchFailed
from theanine.private_files import make_folder, owner_only

MAX_BYTES = 20_000_000_000
"""Maximum size of an archive's members, unpacked."""
MAX_MEMBERS = 200_000
_BLOCK = 1 << 20
_IGNORED = {"__MACOSX", ".DS_Store"}


class _Member(NamedTuple):
    name: str
    size: int
    is_file: bool
    open: Callable[[], IO[bytes] | None]


def unpack(archive: Path, kind: str, folder: Path, *, max_bytes: int = MAX_BYTES) -> list[str]:
    """Unpack a ``tar`` (compressed or not) or ``zip`` into a folder; return the relative paths.

    Raises FetchFailed for a broken archive, one with members outside the folder or other than
    plain files, and one of more than ``max_bytes``.
    """
    read_members = _tar_members if kind == "tar" else _zip_members
    paths: list[str] = []
    try:
        with read_members(archive) as members:
            for member in members:
                if not member.is_file:
                    raise FetchFailed(
                        f"{archive.name} holds {member.name!r}, which is no plain file"
                    )
                paths.append(_safe_path(member.name, archive))
            if sum(member.size for member in members) > max_bytes or len(members) > MAX_MEMBERS:
                raise FetchFailed(f"{archive.name} holds more than expected; nothing was kept")
            for path, member in zip(paths, members, strict=True):
                _write(member, folder / path)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, ValueError) as error:
        raise FetchFailed(f"{archive.name} is no whole {kind} archive: {error}") from None
    return [path for path in paths if not _IGNORED & set(PurePosixPath(path).parts)]


@contextmanager
def _tar_members(archive: Path) -> Generator[list[_Member]]:
    with tarfile.open(archive) as tar:
        yield [
            _Member(info.name, info.size, info.isreg(), lambda info=info: tar.extractfile(info))
            for info in tar
            if not info.isdir()
        ]


@contextmanager
def _zip_members(archive: Path) -> Generator[list[_Member]]:
    with zipfile.ZipFile(archive) as zipped:
        yield [
            _Member(
                info.filename,
                info.file_size,
                stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG),
                lambda info=info: zipped.open(info),
            )
            for info in zipped.infolist()
            if not info.is_dir()
        ]


def _safe_path(name: str, archive: Path) -> str:
    """Return a member's relative path. Raises FetchFailed if it leads out of the folder."""
    windows, posix = PureWindowsPath(name), PurePosixPath(name)
    rooted = windows.drive or windows.root or posix.is_absolute()
    if rooted or ".." in windows.parts or ".." in posix.parts or not posix.parts:
        raise FetchFailed(f"{archive.name} reaches outside its folder with {name!r}: refused")
    return str(posix)


def _write(member: _Member, target: Path) -> None:
    source = member.open()
    if source is None:
        raise ValueError(f"{member.name!r} can't be opened")
    make_folder(target.parent)
    written = 0
    with source, open(target, "wb", opener=owner_only) as out:
        while block := source.read(_BLOCK):
            written += len(block)
            if written > member.size:
                raise ValueError(f"{member.name!r} is longer than its header says")
            out.write(block)
    if written != member.size:
        raise ValueError(f"{member.name!r} is shorter than its header says")
