"""Print the papers' tables, with the figures of your own runs in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from theanine.cli.options import JsonOption, show_json
from theanine.cli.rendering import console, show_table
from theanine_bench.analysis.tables import (
    Row,
    Table,
    insert_rows,
    load_tables,
    run_rows,
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

    A run appears in the tables of its bench and data set, after the row of the same method and
    settings. Its figures are scaled like the paper's; means over sessions or sets weigh each
    equally, and a mean of sets needs a run of each. What a run needs for a missing figure is
    printed below the table. docs/benchmarks/metrics.md says how each paper computes its metrics.

    \b
    theanine bench tables
    theanine bench tables theanine-msc --run runs/responses-theanine-1a2b3c4d
    """
    runs = [(folder.settings(), folder.summary()) for folder in map(RunFolder, run or [])]
    records: list[dict[str, Any]] = []
    for table in load_tables(names or []):
        own, hints = run_rows(table, runs)
        rows = [asdict(row) for row in insert_rows(table, own)]
        records.append({**asdict(table), "rows": rows, "hints": hints})
        if not as_json:
            show_paper_table(table, own, hints)
    if as_json:
        show_json(records)


def show_paper_table(table: Table, own: Sequence[Row], hints: Sequence[str] = ()) -> None:
    """Print a table with rows of runs in it, and the hints below."""
    console().print(
        f"\n{table.id}: {table.description} ({table.paper}, {table.location})", markup=False
    )
    decimals = [  # as many as the paper prints in a column
        max((len(f"{value:.9g}".partition(".")[2]) for value in column if value), default=2)
        for column in zip(*(row.values for row in table.rows), strict=True)
    ]
    cells = (
        [
            row.label,
            *(
                "–" if value is None else f"{value:,.{digits}f}"
                for value, digits in zip(row.values, decimals, strict=True)
            ),
        ]
        for row in insert_rows(table, own)
    )
    show_table(["", *(column.name for column in table.columns)], cells)
    for hint in hints:
        print(hint)
