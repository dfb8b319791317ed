"""Measure whether a method knows that it knows nothing."""

from __future__ import annotations

from typing import Annotated

import anyio
import typer

from theanine.cli.rendering import console, show_table
from theanine_bench.cli.execution import exit_unless_complete, run_or_replay, show_rest
from theanine_bench.cli.run_options import DataSetsArgument, RunOptions, resolve_data, run_command
from theanine_bench.metrics.relevance import calibration_error, reliability
from theanine_bench.runs.saved_run import SavedRun, read_run
from theanine_bench.tasks.relevance import (
    curve_table,
    relevance_task,
    result_table,
)

LEGEND = (
    "kept: evidence of own questions, of 1, if the floor empties whole recollections; in parts: if "
    "it cuts each part; empty: share of recollections without parts"
)


@run_command
def relevance(
    data: DataSetsArgument,
    joined: Annotated[
        bool, typer.Option("--joined", help="Put all histories of a data set into one memory.")
    ] = False,
    *,
    options: RunOptions,
) -> None:
    """Measure whether a method knows that it knows nothing.

    Each memory is asked its own questions, those of another memory with the names replaced, and
    questions about matters that it never mentions; a set's unanswerable questions are beside them.
    The tables show recollections with the method's own floor of relevance, with one chosen for each
    history on all others, and over all floors.

    \b
    theanine bench relevance locomo beam-100k --out runs/relevance
    theanine bench relevance locomo --limit 500 --budget 500
    theanine bench relevance beam-100k --joined --out runs/large
    """
    task = relevance_task(resolve_data(data), options.limit, joined=joined)
    outcome = run_or_replay(task, options, show=lambda _: None)
    if outcome is None:
        return
    folder, summary = outcome
    if not options.as_json:
        _show(anyio.run(read_run, folder.path))
    exit_unless_complete(summary)


def _show(run: SavedRun) -> None:
    table, bins = result_table(run), reliability(run.results.values())
    console().print("\nQuestions by data set and kind [95 % intervals]", style="bold")
    show_table(table.columns, table.rows)
    for data in dict.fromkeys(result.extra["data"] for result in run.results.values()):
        console().print(f"\n{data}, by floor", style="bold", markup=False)
        curve = curve_table(run, data)
        show_table(curve.columns, curve.rows)
    console().print(LEGEND, style="dim", markup=False)
    if bins:
        console().print("\nParts by relevance, of questions with evidence", style="bold")
        rows = [
            [f"{one.low:.1f}–{one.high:.1f}", one.n, f"{one.relevance:.3f}", f"{one.evidence:.3f}"]
            for one in bins
        ]
        show_table(["relevance", "parts", "mean", "with evidence"], rows)
        console().print(f"calibration error: {calibration_error(bins):.3f}")
    show_rest(run.summary)
