"""The public data sets by name: where they are, where they are kept here, and what a name means.

The list is ``public.toml`` beside this file. A set is kept in
``$XDG_CACHE_HOME/theanine/data/NAME`` (by default in ``~/.cache``), whether it was fetched or put
there by hand.
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
from theanine_bench.datasets.checksums import Checksums

LIST = "public.toml"
State = Literal["absent", "incomplete", "fetched", "by hand"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicFile:
    """A file of a set at its public place.

    Attributes:
        place: where it goes in the set's folder.
        sha256: what is known beforehand; empty where nothing is.
        size: in bytes, exact; None where it is not known.
        optional: it may be missing there.
        unpack: ``tar`` or ``zip`` for an archive that is unpacked into the set's folder.
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
        page: where people read about it.
        benches: which take it.
        reads: the file in its folder that a bench is given; ``.`` for the folder.
        by_hand: how to get it where it can't be fetched; empty where it can.
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
    note: str = ""

    @property
    def size(self) -> int | None:
        """Of all its files together, in bytes; None where one is not known."""
        sizes = [file.size for file in self.files]
        known = [size for size in sizes if size is not None]
        return sum(known) if sizes and len(known) == len(sizes) else None

    @property
    def instructions(self) -> str:
        """How to get it, in one line."""
        place = dataset_folder(self) / self.data_path
        if not self.files:
            return f"{self.manual_instructions}; put it at {place} (see {self.page})"
        size = f"{format_size(self.size)}, " if self.size else ""
        return (
            f"`theanine bench fetch {self.name}` fetches it ({size}licence: {self.license}), "
            f"or put it at {place} (see {self.page})"
        )


def public_datasets() -> dict[str, PublicDataset]:
    """All sets, by name."""
    read = tomllib.loads(files(__package__ or "").joinpath(LIST).read_text("utf-8"))
    return {name: _set(name, fields) for name, fields in read.items()}


def get_dataset(name: str) -> PublicDataset:
    """The set of a name. Raises NotFound, with the names that there are."""
    known = public_datasets()
    if name not in known:
        raise NotFound(f"no data set {name!r}; there are: {', '.join(known)}")
    return known[name]


def data_folder() -> Path:
    """Where the sets are kept on this machine."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "theanine" / "data"


def dataset_folder(one: PublicDataset) -> Path:
    """Where a set is kept on this machine, whether it is there or not."""
    return data_folder() / one.name


def dataset_state(one: PublicDataset) -> State:
    """Whether a set is here, by its files' being there; nothing is read or verified."""
    folder = dataset_folder(one)
    if not folder.is_dir() or not any(folder.iterdir()):
        return "absent"
    there = (folder / one.data_path).exists()
    sums = Checksums.load(folder)
    if not sums.files:
        return "by hand" if there else "incomplete"
    whole = all(
        file.optional or file.path in sums.files or file.path in sums.archives for file in one.files
    )
    return "fetched" if there and whole else "incomplete"


def resolve_data_path(data: Path) -> Path:
    """A path as it is; or a set's name as the file or folder of it that a bench reads.

    What was fetched is held against its checksums each time; what was put there by hand, against
    those that are known beforehand. Raises NotFound where the set isn't here, with how to get it,
    and for a name that is neither; BadInput where a file is no longer what was fetched.
    """
    if data.exists() or len(data.parts) != 1:
        return data
    known = public_datasets()
    one = known.get(str(data))
    if one is None and data.suffix:
        return data
    if one is None:
        raise NotFound(f"no file and no data set is called {data}; the sets: {', '.join(known)}")
    state = dataset_state(one)
    if state == "absent":
        raise NotFound(f"{one.name} is not on this machine: {one.instructions}")
    if state == "incomplete":
        raise NotFound(f"{one.name} is not all in {dataset_folder(one)}: {one.instructions}")
    folder = dataset_folder(one)
    Checksums.load(folder).verify(folder)
    if state == "by hand":
        _verify_known(one, folder)
    return folder / one.data_path


def format_size(size: int | None) -> str:
    """A size for people; ``?`` for an unknown one."""
    if size is None:
        return "?"
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _verify_known(one: PublicDataset, folder: Path) -> None:
    known = {
        file.path: file.sha256
        for file in one.files
        if file.sha256 and not file.unpack and (folder / file.path).is_file()
    }
    wrong = Checksums(files=known).changed_files(folder)
    if wrong:
        raise BadInput(
            f"it is not the published file of {one.name} (its checksum differs); "
            "name it by its path to use it all the same",
            str(folder / wrong[0]),
        )


def _set(name: str, fields: Mapping[str, Any]) -> PublicDataset:
    listed = [file for one in fields.get("files", ()) for file in _files(one)]
    plain = {key: value for key, value in fields.items() if key not in ("files", "benches")}
    return PublicDataset(name=name, benches=tuple(fields["benches"]), files=tuple(listed), **plain)


def _files(fields: Mapping[str, Any]) -> Iterator[PublicFile]:
    """The file, or one for each number."""
    plain = {key: value for key, value in fields.items() if key != "numbers"}
    if "numbers" not in fields:
        yield PublicFile(**plain)
        return
    first, last = fields["numbers"]
    for number in range(first, last + 1):
        filled = {key: plain[key].replace("{n}", str(number)) for key in ("url", "path")}
        yield PublicFile(**{**plain, **filled})
