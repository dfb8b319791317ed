"""`theanine bench tables`: the papers' figures beside ours."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from theanine.cli.common import JsonOption, show_json
from theanine.cli.show import console, show_table


def tables(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[TABLE…]", help="Only these tables.")
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option("--run", metavar="FOLDER", help="A run whose figures go in; several may be."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the papers' tables, with the figures of our own runs in them.

    A run goes into every table of its bench: see to it that it was on the table's data. Ours are
    scaled as the paper has them; how each paper computes its measures is in
    docs/benchmarks/metrics.md.

    \b
    theanine bench tables
    theanine bench tables theanine-msc --run runs/responses-theanine-1a2b3c4d
    """
    from theanine.evaluation.runs.folder import RunFolder
    from theanine.evaluation.tables import ours, with_ours
    from theanine.evaluation.tables import tables as read

    runs = [(folder.settings(), folder.summary()) for folder in map(RunFolder, run or [])]
    found = [
        (table, with_ours(table, [row for one in runs if (row := ours(table, *one))]))
        for table in read(names or [])
    ]
    if as_json:
        show_json([{**asdict(table), "rows": list(map(asdict, rows))} for table, rows in found])
        return
    for table, rows in found:
        console().print(f"\n{table.id}: {table.what} ({table.paper}, {table.place})", markup=False)
        show_table(
            ["", *(column.name for column in table.columns)],
            ([row.label, *map(_figure, row.values)] for row in rows),
        )


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}" if abs(value) >= 1 else f"{value:.3f}"
