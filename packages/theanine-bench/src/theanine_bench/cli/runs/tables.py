"""`theanine bench tables`: the papers' figures beside ours."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theanine.cli.options import JsonOption, show_json
from theanine.cli.rendering import console, show_table

if TYPE_CHECKING:
    from theanine_bench.analysis.tables import Row, Table


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
    scaled as the paper has them, and a mean of sessions counts each alike; what a run would need
    for a figure that it lacks is said below. How each paper computes its measures is in
    docs/benchmarks/metrics.md.

    \b
    theanine bench tables
    theanine bench tables theanine-msc --run runs/responses-theanine-1a2b3c4d
    """
    from theanine_bench.analysis.tables import insert_rows, missing_inputs, run_row
    from theanine_bench.analysis.tables import load_tables as read
    from theanine_bench.runs.folder import RunFolder

    runs = [(folder.settings(), folder.summary()) for folder in map(RunFolder, run or [])]
    found: list[tuple[Table, list[Row], list[str]]] = []
    for table in read(names or []):
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
    """How many decimals the paper prints, column by column."""
    columns = zip(*(row.values for row in table.rows), strict=True)
    return [
        max((len(f"{value:.9g}".partition(".")[2]) for value in column if value), default=2)
        for column in columns
    ]


def _figure(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:,.{places}f}"
