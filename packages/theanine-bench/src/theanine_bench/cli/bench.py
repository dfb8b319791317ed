"""Measure on labelled conversations."""

from __future__ import annotations

import typer

from theanine_bench.cli.retrieval import retrieval
from theanine_bench.cli.runs import (
    answers,
    data,
    diff,
    judge,
    memory,
    pairwise,
    report,
    rescore,
    tables,
)
from theanine_bench.cli.segmentation import segmentation

bench = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Measure on labelled conversations."
)


@bench.callback()
def together() -> None:
    """Measure on labelled conversations; each bench is one command."""


bench.command()(segmentation)
bench.command()(retrieval)
for command in (
    answers.qa,
    answers.responses,
    diff.diff,
    data.data,
    data.fetch,
    judge.judge,
    memory.memory,
    pairwise.pairwise,
    report.report,
    rescore.rescore,
    tables.tables,
):
    bench.command()(command)
