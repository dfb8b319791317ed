"""List the public data sets, or check one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from theanine.cli.options import JsonOption, show_json
from theanine.cli.rendering import console, pluralize, show_table
from theanine.errors import NotFound
from theanine_bench.datasets.registry import (
    PublicDataset,
    dataset_folder,
    dataset_state,
    format_size,
    get_dataset,
    public_datasets,
    resolve_data_path,
)
from theanine_bench.tasks.check_data import DatasetReport, check_dataset


def data(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Name of a set, or a path to check."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Read it like the benches; count its contents and faults."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the public data sets, or check one.

    Every bench takes a set's name in place of a path. Sets are kept in
    `$XDG_CACHE_HOME/theanine/data`, by default in `~/.cache`. --check without a name checks all
    that are there.

    \b
    theanine bench data
    theanine bench data locomo --check
    theanine bench data mine/talks.json --check
    """
    if check:
        _check(name, as_json)
        return
    sets = list(public_datasets().values()) if name is None else [get_dataset(name)]
    rows = [_describe(dataset) for dataset in sets]
    if as_json:
        show_json(rows)
    elif name is None:
        columns = ["name", "here", "size", "licence", "benches", "what"]
        show_table(columns, ([row[column] for column in columns] for row in rows))
        console().print("\n`theanine bench data NAME` shows a set, `bench fetch NAME` fetches it")
    else:
        for title, value in rows[0].items():
            if value:
                text = value if isinstance(value, str) else _first_of(value)
                console().print(f"{title}: {text}", markup=False)


def _describe(dataset: PublicDataset) -> dict[str, Any]:
    state = dataset_state(dataset)
    return {
        "name": dataset.name,
        "what": dataset.description,
        "here": state,
        "size": format_size(dataset.size),
        "licence": dataset.license,
        "benches": ", ".join(dataset.benches),
        "page": dataset.page,
        "files": [file.url for file in dataset.files],
        "folder": str(dataset_folder(dataset)),
        "how": dataset.instructions if state in ("absent", "incomplete") else "",
        "note": dataset.note,
    }


def _check(name: str | None, as_json: bool) -> None:
    sets = public_datasets()
    present = [s.name for s in sets.values() if dataset_state(s) in ("fetched", "by hand")]
    names = present if name is None else [name]
    if not names:
        raise NotFound("no data set is here; `theanine bench fetch NAME` fetches one")
    reports: dict[str, list[DatasetReport]] = {}
    for name in names:
        path = resolve_data_path(Path(name))
        benches = sets[name].benches if name in sets and path != Path(name) else ()
        reports[name] = check_dataset(path, benches)
    if as_json:
        show_json({name: list(map(asdict, parts)) for name, parts in reports.items()})
        return
    for name, parts in reports.items():
        for part in parts:
            contents = _format_counts(part.contents)
            console().print(f"{name}, as `bench {part.bench}` reads it: {contents}", markup=False)
            if part.samples:
                print(f"  {sum(part.samples.values()):,} in all: {_format_counts(part.samples)}")
            if part.fields:
                print(f"  fields read: {', '.join(part.fields)}")
            print(f"  dropped: {_format_counts(part.dropped) or 'nothing'}")
            if part.warnings:
                print(f"  odd, taken as it is: {_format_counts(part.warnings)}")


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(pluralize(count, what) for what, count in counts.items())


def _first_of(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{items[0]} and {len(items) - 1} others"
