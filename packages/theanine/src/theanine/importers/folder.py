"""Folders and archives: named files that belong together."""

from __future__ import annotations

import io
import lzma
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from theanine.errors import BadInput
from theanine.importers.schema import Object, as_object, parse
from theanine.importers.source import Source, opened

_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0")
_MAX_FILES = 200_000
_IN_MEMORY = 8 << 20
_BOMB_BYTES, _BOMB_RATIO = 256 << 20, 150
_UNREADABLE = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError),
    *(EOFError, NotImplementedError, RuntimeError, OSError, ValueError),
)


class Folder(ABC):
    """Files by their paths relative to the folder, with ``/``; hidden ones are left out.

    Attributes:
        name: its name in messages.
        names: the files' paths, sorted.
        path: the folder or archive itself; None for a stream.
    """

    def __init__(self, name: str, names: Sequence[str], path: Path | None) -> None:
        self.name = name
        self.names = [name for name in sorted(names) if not _is_hidden(name)]
        self.path = path

    @abstractmethod
    def open(self, name: str) -> AbstractContextManager[Source]:
        """Open a file. Raises BadInput if it can't be read."""

    @abstractmethod
    def modified(self, name: str) -> datetime:
        """Return when a file was last changed, aware; files without a time count as oldest."""

    def object(self, name: str) -> Object:
        """Return the JSON object in a file; empty if there is no such file. Raises BadInput."""
        if name not in self.names:
            return {}
        with self.open(name) as source:
            return as_object(parse(source.text(), name), name)

    def select(self, *patterns: str) -> list[str]:
        """Return the files whose path or name matches one of the patterns; ``*`` matches ``/``.

        A path is matched from any of its folders on, also from the folder itself by its name.
        """
        own = f"{self.path.resolve().name}/" if self.path and self.path.is_dir() else ""
        return [
            name
            for name in self.names
            if any(
                fnmatchcase(path, pattern)
                for pattern in patterns
                for path in _tails(own + name if "/" in pattern else name, pattern)
            )
        ]

    @contextmanager
    def unpacked(self, name: str) -> Generator[Folder]:
        """Open an archive in the folder. Raises BadInput if it can't be read or is none."""
        with self.open(name) as packed, tempfile.SpooledTemporaryFile(_IN_MEMORY) as copy:
            shutil.copyfileobj(packed.raw(), copy)
            source = Source(cast("BinaryIO", copy), name, modified=packed.modified)
            if (archive := archive_of(source)) is None:
                raise BadInput("no archive that can be unpacked; download it again", name)
            yield archive


class Directory(Folder):
    """A folder on disk. Links to other folders aren't followed."""

    def __init__(self, path: Path) -> None:
        names: list[str] = []
        for parent, folders, files in os.walk(path):
            folders[:] = [folder for folder in folders if not _is_hidden(folder)]
            names += [(Path(parent) / file).relative_to(path).as_posix() for file in files]
            if len(names) > _MAX_FILES:
                raise BadInput(
                    f"more than {_MAX_FILES:,} files; name the folder of the export itself",
                    str(path),
                )
        super().__init__(str(path), names, path)
        self._root = path

    @contextmanager
    def open(self, name: str) -> Generator[Source]:
        """Open a file. Raises BadInput if it can't be read."""
        with opened(self._root / name) as source:
            source.name = name
            yield source

    def modified(self, name: str) -> datetime:
        return datetime.fromtimestamp((self._root / name).stat().st_mtime, UTC)


class Zip(Folder):
    """A zip archive. Archives in it stay closed until they are opened.

    Raises:
        BadInput: it is damaged, or has more than 200,000 files.
    """

    def __init__(self, source: Source) -> None:
        try:
            self._archive = zipfile.ZipFile(source.raw())
            members = [member for member in self._archive.infolist() if not member.is_dir()]
        except _UNREADABLE as fault:
            raise BadInput(
                f"a damaged zip archive ({fault}); download it again", source.name
            ) from None
        if len(members) > _MAX_FILES:
            raise BadInput(f"more than {_MAX_FILES:,} files; unpack what you need", source.name)
        self._members = {member.filename: member for member in members}
        super().__init__(source.name, list(self._members), source.path)

    @contextmanager
    def open(self, name: str) -> Generator[Source]:
        """Open a file. Raises BadInput if it is encrypted, damaged or expands without measure."""
        member = self._members[name]
        where = f"{self.name}, {name}"
        if member.flag_bits & 1:
            raise BadInput("encrypted; unpack the archive with its password first", where)
        if member.file_size > max(_BOMB_BYTES, _BOMB_RATIO * max(member.compress_size, 1)):
            raise BadInput(
                f"{member.file_size:,} bytes packed into {member.compress_size:,}, which looks "
                "like a zip bomb; unpack it yourself if you trust it",
                where,
            )
        try:
            stream = self._archive.open(member)
        except _UNREADABLE as fault:
            raise BadInput(f"can't be unpacked ({fault}); download it again", where) from None
        with stream:
            raw = io.BufferedReader(_Member(cast("BinaryIO", stream), where), 1 << 16)
            yield Source(raw, name, modified=_modified(member))

    def modified(self, name: str) -> datetime:
        return _modified(self._members[name]) or datetime.min.replace(tzinfo=UTC)


class Tar(Folder):
    """A tar archive, also a packed one, such as Joplin's or Takeout's.

    Raises:
        BadInput: it is damaged, expands without measure, or has more than 200,000 files.
    """

    def __init__(self, source: Source) -> None:
        packed = source.raw().seek(0, io.SEEK_END)
        limit = max(_BOMB_BYTES, _BOMB_RATIO * packed)
        self._members: dict[str, tarfile.TarInfo] = {}
        try:
            self._archive = tarfile.open(fileobj=source.raw(), mode="r:*")  # noqa: SIM115 (for open)
            for member in self._archive:
                if member.isfile():
                    self._members[member.name.removeprefix("./")] = member
                    limit -= member.size
                if limit < 0 or len(self._members) > _MAX_FILES:
                    raise BadInput("larger than an export is; unpack what you need", source.name)
        except _UNREADABLE as fault:
            if isinstance(fault, BadInput):
                raise
            raise BadInput(
                f"no archive that can be unpacked ({fault}); unpack it, or download it again",
                source.name,
            ) from None
        super().__init__(source.name, list(self._members), source.path)

    @contextmanager
    def open(self, name: str) -> Generator[Source]:
        """Open a file. Raises BadInput if it is damaged."""
        stream = cast("BinaryIO", self._archive.extractfile(self._members[name]))
        with stream:
            raw = io.BufferedReader(_Member(stream, f"{self.name}, {name}"), 1 << 16)
            yield Source(raw, name, modified=self.modified(name))

    def modified(self, name: str) -> datetime:
        return datetime.fromtimestamp(max(self._members[name].mtime, 0), UTC)


class _Member(io.RawIOBase):
    """A file in an archive; damage is BadInput."""

    def __init__(self, stream: BinaryIO, where: str) -> None:
        self._stream = stream
        self._where = where

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        with self._explaining():
            return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        with self._explaining():
            data = self._stream.read(len(buffer))
            buffer[: len(data)] = data
            return len(data)

    @contextmanager
    def _explaining(self) -> Generator[None]:
        try:
            yield
        except _UNREADABLE as fault:
            raise BadInput(f"damaged ({fault}); download the archive again", self._where) from None


def archive_of(source: Source) -> Folder | None:
    """Return the archive that a source is by its first bytes, zip or tar, also packed; or None.

    Raises BadInput if it is damaged.
    """
    if source.head.startswith(_ZIP_MAGIC):
        return Zip(source)
    if source.head[257:262] == b"ustar" or source.head.startswith(_PACKED):
        return Tar(source)
    return None


def holds_archives(folder: Folder) -> bool:
    """Return whether a folder has nothing but archives, as services pack parts of an export."""
    return bool(folder.names) and all(name.lower().endswith(_ARCHIVES) for name in folder.names)


def _tails(name: str, pattern: str) -> Sequence[str]:
    """Return the ends of a path that a pattern can match: of as many folders, or any."""
    parts = PurePosixPath(name).parts
    if "/" not in pattern:
        return (name, parts[-1])
    return ["/".join(parts[at:]) for at in range(len(parts))]


def _modified(member: zipfile.ZipInfo) -> datetime | None:
    """Return when a member was last changed; its zone is unknown and read as UTC."""
    try:
        return datetime(*member.date_time, tzinfo=UTC)
    except ValueError:
        return None


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))
