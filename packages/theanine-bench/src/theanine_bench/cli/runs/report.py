"""`theanine bench report`: a run as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from theanine.cli.rendering import console

RunsArgument = Annotated[
    list[Path],
    typer.Argument(metavar="RUN…", help="Folders of runs, or files of `bench retrieval --out`."),
]
AgainstOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Another file of `bench retrieval`, to draw beside these."),
]


def report(runs: RunsArgument, against: AgainstOption = None) -> None:
    """Write a run's page anew: report.html in its folder, or NAME.html beside NAME.jsonl.

    Every run in a folder writes it at its end; this does it for one that was killed, or made by a
    program. Of what `bench retrieval` kept, nothing is run again.

    \b
    theanine bench report runs/qa-theanine-1a2b3c4d
    theanine bench report ours.jsonl --against lexical.jsonl
    """
    from theanine.errors import SettingsError

    if against is not None and any(run.is_dir() for run in runs):
        raise SettingsError("--against goes with files of `bench retrieval`; see `bench diff`")
    for run in runs:
        page = _page_of_items(run, against) if run.is_file() else write_report(run)
        console().print(str(page), markup=False)


def write_report(run: Path) -> Path:
    """The page of the run in a folder; gives its file. Raises BadInput where there is no run."""
    import anyio

    from theanine_bench.report import run_page
    from theanine_bench.runs.folder import REPORT, RunFolder
    from theanine_bench.runs.saved_run import read_run

    return RunFolder(run).write(REPORT, run_page(anyio.run(read_run, run)))


def _page_of_items(file: Path, against: Path | None) -> Path:
    from theanine.cli.output import write_text
    from theanine_bench.report import retrieval_page
    from theanine_bench.tasks.retrieval_items import read_retrieved

    other = None if against is None else read_retrieved(against)
    page = file.with_suffix(".html")
    write_text(page, retrieval_page(read_retrieved(file), other))
    return page
