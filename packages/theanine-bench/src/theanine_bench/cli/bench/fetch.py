"""Download public data sets from their authors, and check them."""

from __future__ import annotations

import sys
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
    for dataset in [get_dataset(name) for name in names]:
        folder = dataset_folder(dataset)
        with _ProgressLine() as line:
            outcome = fetch_dataset(dataset, folder, on_progress=line.show)
        fetched = f"{pluralize(len(outcome.fetched), 'files')} fetched"
        unchanged = f", {len(outcome.unchanged)} there already" if outcome.unchanged else ""
        print(f"{dataset.name}: {fetched}{unchanged}, in {folder}; license: {dataset.license}")
        if outcome.first_seen:
            files = list(outcome.first_seen)
            others = f" and {len(files) - 1} others" if len(files) > 1 else ""
            print(f"No published checksum for {files[0]}{others}; recorded the one received.")


class _ProgressLine:
    """A line with the progress of a download, on a terminal; nothing elsewhere."""

    def __enter__(self) -> _ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")

    def show(self, file: str, done: int, total: int | None) -> None:
        """Rewrite the line; ``done`` and ``total`` are bytes."""
        if sys.stderr.isatty():
            of = "" if total is None else f" of {format_size(total)}"
            sys.stderr.write(f"\r\x1b[K{file}: {format_size(done)}{of}")
            sys.stderr.flush()
