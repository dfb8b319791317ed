"""Download public data sets from their authors, and check them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from theanine.cli.text import pluralize
from theanine_bench.datasets.fetching import fetch as fetch_dataset
from theanine_bench.datasets.registry import dataset_folder, format_size, get_dataset


def fetch(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME…", help="Names of sets; see `bench data`.")
    ],
) -> None:
    """Download public data sets from their authors, and check them.

    Nothing else in theanine downloads data. Each file is checked against its known checksum; where
    none is known, that of the first download is recorded and used from then on. The same command
    downloads what is missing.

    \b
    theanine bench fetch locomo
    theanine bench fetch longmemeval-oracle msc
    """
    for one in [get_dataset(name) for name in names]:
        folder = dataset_folder(one)
        with _ProgressLine() as line:
            got = fetch_dataset(one, folder, on_progress=line.show)
        came = f"{pluralize(len(got.fetched), 'files')} fetched"
        kept = f", {len(got.unchanged)} there already" if got.unchanged else ""
        print(f"{one.name}: {came}{kept}, in {folder}; licence: {one.license}")
        if got.first_seen:
            print(
                f"No published checksum for {_several(got.first_seen)}; recorded the one received."
            )


def _several(places: Sequence[str]) -> str:
    return places[0] if len(places) == 1 else f"{places[0]} and {len(places) - 1} others"


class _ProgressLine:
    """A line with the progress of a download, on a terminal; nothing elsewhere."""

    def __enter__(self) -> _ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")

    def show(self, place: str, done: int, total: int | None) -> None:
        """Rewrite the line."""
        if sys.stderr.isatty():
            of = "" if total is None else f" of {format_size(total)}"
            sys.stderr.write(f"\r\x1b[K{place}: {format_size(done)}{of}")
            sys.stderr.flush()
