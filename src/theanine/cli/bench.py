"""`theanine bench`: measure on labelled conversations."""

from __future__ import annotations

import typer

from theanine.cli.retrieval import retrieval
from theanine.cli.segmentation import segmentation

bench = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Measure on labelled conversations."
)


@bench.callback()
def together() -> None:
    """Measure on labelled conversations; each bench is one command."""


bench.command()(segmentation)
bench.command()(retrieval)
