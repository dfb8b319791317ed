"""`theanine bench report`: a run as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from theanine.cli.show import console


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Folders of runs.")],
) -> None:
    """Write a run's page, report.html in its folder, anew.

    Every run writes it at its end; this does it for one that was killed, or made by a program.

    \b
    theanine bench report runs/qa-theanine-1a2b3c4d
    """
    for run in runs:
        console().print(str(write_report(run)), markup=False)


def write_report(run: Path) -> Path:
    """The page of the run in a folder; gives its file. Raises BadInput where there is no run."""
    import anyio

    from theanine.cli.page import run_page
    from theanine.evaluation.runs.folder import REPORT, RunFolder
    from theanine.evaluation.runs.kept import read_run

    return RunFolder(run).write(REPORT, run_page(anyio.run(read_run, run)))
