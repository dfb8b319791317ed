"""Export a run as JSON, CSV, Markdown or LaTeX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import anyio
import typer

from theanine.cli.output import write_text
from theanine_bench.runs.saved_run import read_run
from theanine_bench.tasks.export import export_run


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run of any bench.")],
    format: Annotated[
        Literal["json", "csv", "md", "latex"],
        typer.Option(help="json and csv have every result, md and latex the table of scores."),
    ] = "json",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write (default: print).")
    ] = None,
) -> None:
    """Export a run as JSON, CSV, Markdown or LaTeX.

    \b
    theanine bench export runs/qa-theanine-1a2b3c4d --format latex
    theanine bench export runs/qa-theanine-1a2b3c4d --format csv --out results.csv
    """
    text = export_run(anyio.run(read_run, run), format)
    if out is None:
        print(text, end="")
    else:
        write_text(out, text)
