"""The catalog of public data sets (``public.toml``) and their folders on this machine.

A data set is kept in ``$XDG_CACHE_HOME/theanine/data/NAME`` (default ``~/.cache``), whether it was
fetched or put there by hand.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from theanine.errors import BadInput, NotFound
from theanine.suggestion import suggest
from theanine_bench.datasets.checksums import Checksums

CATALOG = "public.toml"
State = Literal["absent", "incomplete", "fetched", "by hand", "bundled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicFile:
    """A downloadable file of a data set.

    Attributes:
        path: relative to the data set's folder.
        sha256: published checksum; empty if unknown.
        size: exact, in bytes; None if unknown.
        optional: whether the server may lack it.
        unpack: ``tar`` or ``zip`` for an archive to unpack into the folder; else empty.
    """

    url: str
    path: str
    sha256: str = ""
    size: int | None = None
    optional: bool = False
    unpack: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicDataset:
    """A public data set.

    Attributes:
        page: its home page.
        benches: the benches that take it.
        data_path: the file in its folder to pass to a bench; ``.`` for the folder.
        manual_instructions: how to get it by hand; empty if it can be fetched.
        bundled: whether it comes with this package.
        note: what to know before using it.
    """

    name: str
    description: str
    license: str
    page: str
    benches: tuple[str, ...]
    data_path: str
    files: tuple[PublicFile, ...] = ()
    manual_instructions: str = ""
    bundled: bool = False
    note: str = ""

    @property
    def size(self) -> int | None:
        """Total size of the files in bytes; None if any is unknown."""
        sizes = [file.size for file in self.files]
        if not sizes or None in sizes:
            return None
        return sum(size or 0 for size in sizes)

    @property
    def instructions(self) -> str:
        """Return how to obtain the set, in one line."""
        path = dataset_folder(self) / self.data_path
        if not self.files:
            return f"{self.manual_instructions}; put it at {path} (see {self.page})"
        size = f"{format_size(self.size)}, " if self.size else ""
        return (
            f"`theanine bench fetch {self.name}` fetches it ({size}license: {self.license}), "
            f"or put it at {path} (see {self.page})"
        )


def public_datasets() -> dict[str, PublicDataset]:
    """Return the catalog by name."""
    catalog = tomllib.loads(files(__package__ or "").joinpath(CATALOG).read_text("utf-8"))
    return {name: _parse_dataset(name, fields) for name, fields in catalog.items()}


def get_dataset(name: str) -> PublicDataset:
    """Return a data set of the catalog. Raises NotFound, listing the names."""
    catalog = public_datasets()
    if name not in catalog:
        raise NotFound(
            f"no data set {name!r}{suggest(name, catalog)}; there are: {', '.join(catalog)}"
        )
    return catalog[name]


def data_folder() -> Path:
    """Return the folder of all data sets on this machine."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "theanine" / "data"


def dataset_folder(dataset: PublicDataset) -> Path:
    """Return the folder of a data set on this machine, which may not exist."""
    if dataset.bundled:
        return Path(__file__).parent / "languages"
    return data_folder() / dataset.name


def dataset_state(dataset: PublicDataset) -> State:
    """Return whether a data set is on this machine, judged by file names; nothing is read."""
    if dataset.bundled:
        return "bundled"
    folder = dataset_folder(dataset)
    if not folder.is_dir() or not any(folder.iterdir()):
        return "absent"
    has_data = (folder / dataset.data_path).exists()
    checksums = Checksums.load(folder)
    if not checksums.files:
        return "by hand" if has_data else "incomplete"
    complete = all(
        file.optional or file.path in checksums.files or file.path in checksums.archives
        for file in dataset.files
    )
    return "fetched" if has_data and complete else "incomplete"


def resolve_data_path(data: Path) -> Path:
    """Return an existing path unchanged, and a data set's name as the path that a bench reads.

    Each time, fetched files are verified against their recorded checksums, and files put there by
    hand against published ones. Raises NotFound, saying how to get it, if the data set is not on
    this machine or the name is unknown, and BadInput for a file whose checksum differs.
    """
    if data.exists() or len(data.parts) != 1:
        return data
    catalog = public_datasets()
    dataset = catalog.get(str(data))
    if dataset is None and data.suffix:
        return data
    if dataset is None:
        raise NotFound(f"no file and no data set is called {data}; the sets: {', '.join(catalog)}")
    state, folder = dataset_state(dataset), dataset_folder(dataset)
    if state == "absent":
        raise NotFound(f"{dataset.name} is not on this machine: {dataset.instructions}")
    if state == "incomplete":
        raise NotFound(f"{dataset.name} in {folder} is incomplete: {dataset.instructions}")
    Checksums.load(folder).verify(folder)
    if state == "by hand":
        _verify_published(dataset, folder)
    return folder / dataset.data_path


def format_size(size: int | None) -> str:
    """Format a size in bytes as MB or GB; ``?`` for None."""
    if size is None:
        return "?"
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _verify_published(dataset: PublicDataset, folder: Path) -> None:
    published = {
        file.path: file.sha256
        for file in dataset.files
        if file.sha256 and not file.unpack and (folder / file.path).is_file()
    }
    if changed := Checksums(files=published).changed_files(folder):
        raise BadInput(
            f"it is not the published file of {dataset.name} (its checksum differs); "
            "to use it anyway, give its path",
            str(folder / changed[0]),
        )


def _parse_dataset(name: str, fields: Mapping[str, Any]) -> PublicDataset:
    listed = [file for entry in fields.get("files", ()) for file in _parse_files(entry)]
    rest = {key: value for key, value in fields.items() if key not in ("files", "benches")}
    return PublicDataset(name=name, benches=tuple(fields["benches"]), files=tuple(listed), **rest)


def _parse_files(fields: Mapping[str, Any]) -> Iterator[PublicFile]:
    """Yield the file, or one for each number that ``{n}`` stands for."""
    rest = {key: value for key, value in fields.items() if key != "numbers"}
    if "numbers" not in fields:
        yield PublicFile(**rest)
        return
    first, last = fields["numbers"]
    for number in range(first, last + 1):
        filled = {key: rest[key].replace("{n}", str(number)) for key in ("url", "path")}
        yield PublicFile(**{**rest, **filled})
