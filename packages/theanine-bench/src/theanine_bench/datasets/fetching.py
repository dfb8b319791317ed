"""Fetches a public data set into its folder. Nothing else in theanine ever fetches anything."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from theanine.errors import BadInput, FetchFailed, NotFound
from theanine_bench.datasets.checksums import Checksums, sha256_of
from theanine_bench.datasets.download import MAX_BYTES, download
from theanine_bench.datasets.registry import PublicDataset, PublicFile
from theanine_bench.datasets.unpacking import unpack

Told = Callable[[str, int, int | None], None]
"""Told the file, how many bytes of it have come, and of how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResult:
    """What a fetch did.

    Attributes:
        came: files that were fetched.
        there: files that were there already, unchanged.
        missing: optional files that the place hasn't got.
        first: of those that came, files whose checksum was not known before; it is kept now.
    """

    fetched: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    first_seen: tuple[str, ...] = ()


def fetch(
    dataset: PublicDataset,
    folder: Path,
    *,
    on_progress: Told = lambda place, done, total: None,
    max_bytes: int = MAX_BYTES,
    timeout: float = 30.0,
) -> FetchResult:
    """Fetch what of a set is not in its folder yet, whole and unchanged, or leave it as it was.

    Each file is held against the checksum that is known of it, or else against that of its first
    fetch. Raises NotFound where the set can't be fetched, FetchFailed where the network, the
    server or a checksum fails, and BadInput where other files stand in the way.
    """
    if not dataset.files:
        raise NotFound(f"{dataset.name} can't be fetched: {dataset.instructions}")
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[str]] = {"fetched": [], "unchanged": [], "missing": [], "first_seen": []}
    for file in dataset.files:
        sums = Checksums.load(folder)
        if _is_there(file, folder, sums):
            found["unchanged"].append(file.path)
            continue
        try:
            got = _came(file, folder, sums, on_progress, max_bytes, timeout)
        except FetchFailed as error:
            raise FetchFailed(
                f"{dataset.name} is not fetched: {error}. By hand: put what {dataset.page} has in "
                f"{folder}"
            ) from None
        found["fetched" if got else "missing"].append(file.path)
        if got and not _expected(file, sums):
            found["first_seen"].append(file.path)
    return FetchResult(**{what: tuple(places) for what, places in found.items()})


def _expected(file: PublicFile, sums: Checksums) -> str:
    """Its checksum: as it is known, or of its first fetch; empty for neither."""
    return file.sha256 or sums.files.get(file.path) or sums.archives.get(file.path) or ""


def _is_there(file: PublicFile, folder: Path, sums: Checksums) -> bool:
    """Whether it needs no fetching: it was fetched and is unchanged, or is the published one."""
    if file.unpack:
        return file.path in sums.archives and not sums.changed_files(folder)
    path = folder / file.path
    if not path.exists():
        return False
    expected = _expected(file, sums)
    if not expected:
        raise BadInput(f"it was put there by hand; move it away to fetch {file.path}", str(path))
    if sha256_of(path) != expected:
        return False
    if file.path not in sums.files:
        Checksums(files={**sums.files, file.path: expected}, archives=sums.archives).save(folder)
    return True


def _came(
    file: PublicFile, folder: Path, sums: Checksums, told: Told, limit: int, patience: float
) -> bool:
    """Fetch it; False where it is optional and isn't there."""
    coming = folder / f"{file.path}.new"
    there = download(
        file.url,
        coming,
        progress=lambda done, total: told(file.path, done, total),
        limit=min(limit, file.size or limit),
        patience=patience,
    )
    if not there:
        if file.optional:
            return False
        raise FetchFailed(f"{file.url} is not there (any more)")
    try:
        sum = _held(file, coming, _expected(file, sums))
        if file.unpack:
            _unpacked(file, coming, sum, folder, sums)
        else:
            # Its sum first: a file without one would pass for one that was put there by hand.
            Checksums(files={**sums.files, file.path: sum}, archives=sums.archives).save(folder)
            os.replace(coming, folder / file.path)
    finally:
        coming.unlink(missing_ok=True)
    return True


def _held(file: PublicFile, coming: Path, expected: str) -> str:
    """The checksum of what came. Raises FetchFailed where it is not what was expected."""
    size, sum = coming.stat().st_size, sha256_of(coming)
    if file.size is not None and size != file.size:
        raise FetchFailed(
            f"{file.url} gave {size:,} bytes where {file.size:,} are expected; nothing was kept"
        )
    if expected and sum != expected:
        raise FetchFailed(
            f"{file.url} gave other bytes than expected (SHA-256 {sum}, expected {expected}); "
            "nothing was kept"
        )
    return sum


def _unpacked(file: PublicFile, archive: Path, sum: str, folder: Path, sums: Checksums) -> None:
    """Unpack it aside, then move what it held into the folder."""
    with TemporaryDirectory(prefix="unpacked-", dir=folder) as aside:
        held = Path(aside)
        places = unpack(archive, file.unpack, held)
        fresh = {place: sha256_of(held / place) for place in places}
        kept = Checksums(files={**sums.files, **fresh}, archives={**sums.archives, file.path: sum})
        kept.save(folder)
        for place in places:
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            os.replace(held / place, folder / place)
