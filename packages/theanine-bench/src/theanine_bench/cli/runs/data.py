"""`theanine bench data` and `theanine bench fetch`: which data sets there are, and getting them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theanine.cli.options import JsonOption, show_json
from theanine.cli.rendering import console, pluralize, show_table

if TYPE_CHECKING:
    from theanine_bench.datasets.checking import DatasetReport
    from theanine_bench.datasets.registry import PublicDataset

CheckOption = Annotated[
    bool,
    typer.Option("--check", help="Read it as the benches do: count what it holds and its faults."),
]


def data(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A set of the list, or a path to check."),
    ] = None,
    check: CheckOption = False,
    as_json: JsonOption = False,
) -> None:
    """List the public data sets: what they are, whose licence, where, and whether they are here.

    Every bench takes a set's name in the place of a path. Sets are kept in
    `$XDG_CACHE_HOME/theanine/data`, by default in `~/.cache`. --check without a name reads all
    that are here.

    \b
    theanine bench data
    theanine bench data locomo --check
    theanine bench data mine/talks.json --check
    """
    from theanine_bench.datasets.registry import public_datasets

    if check:
        _check(name, as_json)
        return
    chosen = list(public_datasets().values()) if name is None else [_named(name)]
    rows = [_about(one) for one in chosen]
    if as_json:
        show_json(rows)
    elif name is None:
        heads = ["name", "here", "size", "licence", "benches", "what"]
        show_table(heads, ([row[head] for head in heads] for row in rows))
        console().print("\n`theanine bench data NAME` says where; `bench fetch NAME` fetches it")
    else:
        for title, value in rows[0].items():
            if value:
                shown = value if isinstance(value, str) else _several(value)
                console().print(f"{title}: {shown}", markup=False)


def fetch(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME…", help="Sets of the list; see `bench data`.")
    ],
) -> None:
    """Fetch public data sets from where their authors keep them, and check what came.

    Nothing else in theanine fetches anything. Each file is held against its known checksum; where
    none is known, that of the first fetch is kept and holds from then on. An
    interrupted command starts over with the file that it was at.

    \b
    theanine bench fetch locomo
    theanine bench fetch longmemeval-oracle msc
    """
    from theanine_bench.datasets.fetching import fetch as fetched
    from theanine_bench.datasets.registry import dataset_folder

    for one in [_named(name) for name in names]:
        folder = dataset_folder(one)
        with _Line() as line:
            got = fetched(one, folder, on_progress=line.show)
        came = f"{pluralize(len(got.fetched), 'files')} fetched"
        kept = f", {len(got.unchanged)} there already" if got.unchanged else ""
        print(f"{one.name}: {came}{kept}, in {folder}; licence: {one.license}")
        if got.first_seen:
            print(
                f"No published checksum for {_several(got.first_seen)}; recorded the one received."
            )


def _named(name: str) -> PublicDataset:
    from theanine_bench.datasets.registry import get_dataset

    return get_dataset(name)


def _about(one: PublicDataset) -> dict[str, Any]:
    from theanine_bench.datasets.registry import dataset_folder, dataset_state, format_size

    state = dataset_state(one)
    return {
        "name": one.name,
        "what": one.description,
        "here": state,
        "size": format_size(one.size),
        "licence": one.license,
        "benches": ", ".join(one.benches),
        "page": one.page,
        "files": [file.url for file in one.files],
        "folder": str(dataset_folder(one)),
        "how": "" if state in ("fetched", "by hand") else one.instructions,
        "note": one.note,
    }


def _check(name: str | None, as_json: bool) -> None:
    from theanine.errors import NotFound
    from theanine_bench.datasets.checking import check_dataset
    from theanine_bench.datasets.registry import dataset_state, public_datasets, resolve_data_path

    known = public_datasets()
    here = [one.name for one in known.values() if dataset_state(one) in ("fetched", "by hand")]
    names = here if name is None else [name]
    if not names:
        raise NotFound("no data set is here; `theanine bench fetch NAME` fetches one")
    found: dict[str, list[DatasetReport]] = {}
    for one in names:
        path = resolve_data_path(Path(one))
        benches = known[one].benches if one in known and path != Path(one) else ()
        found[one] = check_dataset(path, benches)
    if as_json:
        show_json({one: list(map(asdict, parts)) for one, parts in found.items()})
        return
    for one, parts in found.items():
        for part in parts:
            _show(one, part)


def _show(name: str, part: DatasetReport) -> None:
    console().print(
        f"{name}, as `bench {part.bench}` reads it: {_counts(part.contents)}", markup=False
    )
    if part.samples:
        print(f"  {sum(part.samples.values()):,} in all: {_counts(part.samples)}")
    print(f"  dropped: {_counts(part.dropped) or 'nothing'}")
    if part.warnings:
        print(f"  odd, taken as it is: {_counts(part.warnings)}")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(pluralize(count, what) for what, count in counts.items())


def _several(places: Sequence[str]) -> str:
    return places[0] if len(places) == 1 else f"{places[0]} and {len(places) - 1} others"


class _Line:
    """One line that says how far a file is, on a terminal; nothing elsewhere."""

    def __enter__(self) -> _Line:
        return self

    def __exit__(self, *_: object) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")

    def show(self, place: str, done: int, total: int | None) -> None:
        """Write the line anew."""
        if sys.stderr.isatty():
            from theanine_bench.datasets.registry import format_size

            of = "" if total is None else f" of {format_size(total)}"
            sys.stderr.write(f"\r\x1b[K{place}: {format_size(done)}{of}")
            sys.stderr.flush()
