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

CheckOption = Annotated[
    bool,
    typer.Option("--check", help="Read it like the benches; count its contents and faults."),
]


def data(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Name of a set, or a path to check."),
    ] = None,
    check: CheckOption = False,
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
    chosen = list(public_datasets().values()) if name is None else [get_dataset(name)]
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


def _about(one: PublicDataset) -> dict[str, Any]:

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
