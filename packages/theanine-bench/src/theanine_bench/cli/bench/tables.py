"""Print the papers' tables, with the figures of your own runs in them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from theanine.cli.options import JsonOption, show_json
from theanine.cli.rendering import console, show_table
from theanine_bench.analysis.tables import (
    Row,
    Table,
    insert_rows,
    load_tables,
    missing_inputs,
    run_row,
)
from theanine_bench.runs.folder import RunFolder


def tables(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[TABLE…]", help="Only these tables.")
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option("--run", metavar="FOLDER", help="Run to include; repeatable."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the papers' tables, with the figures of your own runs in them.

    A run appears in every table of its bench; make sure that it used the table's data. Its figures
    are scaled like the paper's, and a mean over sessions weighs each session equally. What a run
    needs for a missing figure is printed below the table. docs/benchmarks/metrics.md says how each
    paper computes its metrics.

    \b
    theanine bench tables
    theanine bench tables theanine-msc --run runs/responses-theanine-1a2b3c4d
    """
    runs = [(folder.settings(), folder.summary()) for folder in map(RunFolder, run or [])]
    found: list[tuple[Table, list[Row], list[str]]] = []
    for table in load_tables(names or []):
        own = [(row, missing_inputs(table, *one)) for one in runs if (row := run_row(table, *one))]
        hints = [f"{row.label}: {'; '.join(lacks)}" for row, lacks in own if lacks]
        found.append((table, insert_rows(table, [row for row, _ in own]), hints))
    if as_json:
        show_json(
            [
                {**asdict(table), "rows": list(map(asdict, rows)), "hints": hints}
                for table, rows, hints in found
            ]
        )
        return
    for table, rows, hints in found:
        console().print(
            f"\n{table.id}: {table.description} ({table.paper}, {table.location})", markup=False
        )
        places = _places(table)
        show_table(
            ["", *(column.name for column in table.columns)],
            ([row.label, *map(_figure, row.values, places)] for row in rows),
        )
        for hint in hints:
            print(hint)


def _places(table: Table) -> list[int]:
    """Return the number of decimals that the paper prints, by column."""
    columns = zip(*(row.values for row in table.rows), strict=True)
    return [
        max((len(f"{value:.9g}".partition(".")[2]) for value in column if value), default=2)
        for column in columns
    ]


def _figure(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:,.{places}f}"
