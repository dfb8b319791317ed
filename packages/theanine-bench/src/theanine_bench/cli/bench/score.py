"""Score answers that were made elsewhere, and show them in the papers' tables."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from theanine.cli.options import show_json
from theanine.cli.rendering import console
from theanine.cli.text import pluralize
from theanine.errors import BadInput, SettingsError
from theanine_bench.analysis.tables import Run, load_tables, run_rows
from theanine_bench.cli.bench.tables import show_paper_table
from theanine_bench.cli.execution import (
    execute,
    exit_unless_complete,
    replay_and_show,
    run_config,
    show_summary,
)
from theanine_bench.cli.run_options import JudgingOptions, MetricsOption, run_command
from theanine_bench.runs.folder import RunFolder
from theanine_bench.runs.runner import RunLimits
from theanine_bench.tasks.score import find_answer_files, find_other_files, score_task


@run_command
def score(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", help="Answers with references, or folders of such files."),
    ],
    *,
    metric: MetricsOption = None,
    dataset: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Data set of the answers, such as MSC, for the tables."),
    ] = None,
    method: Annotated[
        str | None, typer.Option(metavar="NAME", help="System that made the answers.")
    ] = None,
    options: JudgingOptions,
) -> None:
    """Score answers that were made elsewhere, and show them in the papers' tables.

    A file has a JSON object a line, {"answer", "reference"}, perhaps with "id", "category",
    "question" or "dialogue"; results of a run; or outputs as Theanine's authors published them,
    whose names say the data set and the system. Rows of several sets are means of the sets, as in
    the papers. A file of a folder that has no answers is skipped, and said to be.

    \b
    theanine bench score answers.jsonl --dataset MSC --metric rouge-l
    theanine bench score authors_outputs --metric corpus-bleu-4 --metric rouge-l
    """
    paths = find_answer_files(files)
    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        raise SettingsError("two files have the same name: score them apart")
    runs: dict[str, Run] = {}
    others = find_other_files(files)
    skipped = [f"{file}: it is neither JSON nor JSON Lines" for file in others]
    for path in paths:
        try:
            scored = score_task(
                path, dataset=dataset, method=method, metrics=metric, limit=options.limit
            )
        except BadInput as error:
            if path in files:
                raise
            skipped.append(str(error))
            continue
        config = replace(run_config(options), method=scored.method)
        out = options.out if options.out is None or len(paths) == 1 else options.out / path.stem
        folder = None if out is None else RunFolder(out)
        if options.replay:
            replay_and_show(scored.task, config, folder)
            continue
        limits = RunLimits(
            concurrency=options.concurrency, max_cost=options.max_cost, timeout=options.timeout
        )
        folder, summary = execute(scored.task, config, folder, limits)
        runs[path.stem] = folder.settings(), summary
        if not options.as_json:
            console().print(f"{path.name}: {scored.method}", markup=False)
            show_summary(summary)
    _report_skipped(skipped, len(paths) + len(others))
    if options.as_json:
        show_json({name: summary for name, (_, summary) in runs.items()})
    else:
        _show_tables([*runs.values()])
    for _, summary in runs.values():
        exit_unless_complete(summary)


def _report_skipped(skipped: Sequence[str], of: int) -> None:
    """Say which files have no answers. Raises BadInput if none has."""
    if len(skipped) == of:
        raise BadInput(f"no answers in any of {pluralize(of, 'files')}: {skipped[-1]}")
    if skipped:
        print(f"{pluralize(len(skipped), 'files')} without answers skipped:", file=sys.stderr)
        for reason in skipped:
            print(f"  {reason}", file=sys.stderr)


def _show_tables(runs: Sequence[Run]) -> None:
    for table in load_tables():
        rows, _ = run_rows(table, runs)
        if rows:
            show_paper_table(table, rows)
