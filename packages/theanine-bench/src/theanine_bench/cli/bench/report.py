"""Write the page of a run again, as report.html in its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import anyio
import typer

from theanine.cli.output import write_text
from theanine.cli.rendering import console
from theanine.errors import SettingsError
from theanine_bench.cli.execution import write_page
from theanine_bench.report import bench_page, retrieval_page
from theanine_bench.runs.saved_run import SavedRun, read_run


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN…", help="Folders of runs, or files of retrieval runs of 0.1."),
    ],
    against: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Retrieval run to draw next to other retrieval runs."),
    ] = None,
) -> None:
    """Write the page of a run again, as report.html in its folder.

    Every run writes its page at its end; this command does it for an interrupted run or one made by
    a program. Nothing is run again.

    \b
    theanine bench report runs/qa-theanine-1a2b3c4d
    theanine bench report runs/dense --against runs/lexical
    """
    other = None if against is None else _read_retrieval_run(against)
    for run in runs:
        if other is not None:
            page = run.with_suffix(".html") if run.is_file() else run / "report.html"
            write_text(page, retrieval_page(_read_retrieval_run(run), other))
        elif run.is_file():
            page = run.with_suffix(".html")
            write_text(page, bench_page(anyio.run(read_run, run)))
        else:
            page = write_page(run)
        console().print(str(page), markup=False)


def _read_retrieval_run(path: Path) -> SavedRun:
    run = anyio.run(read_run, path)
    if run.bench != "retrieval":
        raise SettingsError("--against is for retrieval runs; see `theanine bench diff`")
    return run
