"""Fetch a public data set into its folder. Nothing else in theanine downloads anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from theanine.errors import BadInput, FetchFailed, NotFound
from theanine.private_files import make_folder
from theanine_bench.datasets.checksums import Checksums, sha256_of
from theanine_bench.datasets.download import MAX_BYTES, RETRIES, download
from theanine_bench.datasets.registry import PublicDataset, PublicFile
from theanine_bench.datasets.unpacking import unpack

FileProgress = Callable[[str, int, int | None], None]
"""Called with a file's path, the bytes received so far and its size (None if unknown)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResult:
    """The files of a data set by what fetching did.

    Attributes:
        fetched: downloaded now.
        unchanged: already there with the right checksum.
        missing: optional files that the server doesn't have.
        first_seen: those of ``fetched`` whose checksum was unknown and is recorded now.
    """

    fetched: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    first_seen: tuple[str, ...] = ()


def fetch(
    dataset: PublicDataset,
    folder: Path,
    *,
    on_progress: FileProgress = lambda path, received, total: None,
    max_bytes: int = MAX_BYTES,
    timeout: float = 30.0,
    retries: int = RETRIES,
) -> FetchResult:
    """Fetch the files of a data set that its folder lacks; each file arrives whole or not at all.

    Files are checked against their published checksum or, where none is published, against the
    one recorded when they were first fetched.

    Raises NotFound for a data set that can't be fetched, FetchFailed if the network, the server or
    a checksum fails, BadInput if a file of unknown origin is in the way.
    """
    if dataset.bundled:
        raise BadInput("it comes with theanine-bench; nothing is to be fetched", dataset.name)
    if not dataset.files:
        raise NotFound(f"{dataset.name} can't be fetched: {dataset.instructions}")
    make_folder(folder)
    fetched: list[str] = []
    unchanged: list[str] = []
    missing: list[str] = []
    first_seen: list[str] = []
    for file in dataset.files:
        checksums = Checksums.load(folder)
        if _is_current(file, folder, checksums):
            unchanged.append(file.path)
            continue
        incoming = folder / f"{file.path}.new"
        try:
            found = download(
                file.url,
                incoming,
                on_progress=lambda received, total, path=file.path: on_progress(
                    path, received, total
                ),
                max_bytes=min(max_bytes, file.size or max_bytes),
                timeout=timeout,
                retries=retries,
            )
            if found:
                _install(file, incoming, folder, checksums)
            elif not file.optional:
                raise FetchFailed(f"{file.url} doesn't exist (any more)")
        except FetchFailed as error:
            raise FetchFailed(
                f"{dataset.name} is not fetched: {error}. By hand: put the files of "
                f"{dataset.page} into {folder}"
            ) from None
        finally:
            incoming.unlink(missing_ok=True)
        (fetched if found else missing).append(file.path)
        if found and not _expected_checksum(file, checksums):
            first_seen.append(file.path)
    return FetchResult(
        fetched=tuple(fetched),
        unchanged=tuple(unchanged),
        missing=tuple(missing),
        first_seen=tuple(first_seen),
    )


def _expected_checksum(file: PublicFile, checksums: Checksums) -> str:
    """Return the published or the recorded checksum; empty if there is neither."""
    recorded = checksums.archives if file.unpack else checksums.files
    return file.sha256 or recorded.get(file.path, "")


def _is_current(file: PublicFile, folder: Path, checksums: Checksums) -> bool:
    """Return whether the file needs no fetching. Raises BadInput for one of unknown origin."""
    if file.unpack:
        return file.path in checksums.archives and not checksums.changed_files(folder)
    path = folder / file.path
    if not path.exists():
        return False
    expected = _expected_checksum(file, checksums)
    if not expected:
        raise BadInput(f"it was put there by hand; move it away to fetch {file.path}", str(path))
    if sha256_of(path) != expected:
        return False
    if file.path not in checksums.files:
        _record(file.path, expected, folder, checksums)
    return True


def _install(file: PublicFile, incoming: Path, folder: Path, checksums: Checksums) -> None:
    """Verify a downloaded file and move it, or what it holds, into the folder.

    Checksums are recorded first: a file without one would pass for one that was put there by hand.
    """
    size, checksum = incoming.stat().st_size, sha256_of(incoming)
    if file.size is not None and size != file.size:
        raise FetchFailed(
            f"{file.url} gave {size:,} bytes where {file.size:,} are expected; nothing was kept"
        )
    expected = _expected_checksum(file, checksums)
    if expected and checksum != expected:
        raise FetchFailed(
            f"{file.url} gave other bytes than expected (SHA-256 {checksum}, expected {expected}); "
            "nothing was kept"
        )
    if not file.unpack:
        _record(file.path, checksum, folder, checksums)
        os.replace(incoming, folder / file.path)
        return
    with TemporaryDirectory(prefix="unpacked-", dir=folder) as temporary:
        unpacked = Path(temporary)
        paths = unpack(incoming, file.unpack, unpacked)
        Checksums(
            files={**checksums.files, **{path: sha256_of(unpacked / path) for path in paths}},
            archives={**checksums.archives, file.path: checksum},
        ).save(folder)
        for path in paths:
            make_folder((folder / path).parent)
            os.replace(unpacked / path, folder / path)


def _record(path: str, checksum: str, folder: Path, checksums: Checksums) -> None:
    files = {**checksums.files, path: checksum}
    Checksums(files=files, archives=checksums.archives).save(folder)
