"""`theanine bench memory`: what a method writes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from theanine_bench.cli.runs.options import RunOptions, with_run_options


@with_run_options
def memory(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="LoCoMo, MSC's folder of persona summaries, or JSON Lines with memories.",
        ),
    ],
    *,
    gold: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Gold memories of these histories, by their names."),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only memories of this kind, such as statement."),
    ] = None,
    options: RunOptions,
) -> None:
    """How good what a method writes is: against gold memories, and against its own source turns.

    Precision, recall and F1 by what memories say; unsupported, repeated and empty ones. `rule/` is
    by words alone and needs no judge; with --judge a model reads as well. The items of the run name
    the turns behind every memory.

    \b
    theanine bench memory locomo10.json
    theanine bench memory locomo10.json --model openai:gpt-4o-mini --judge openai:gpt-4o
    theanine bench memory msc_personasummary --method memory-update --limit 20
    """
    from theanine_bench.cli.runs.common import perform_and_show
    from theanine_bench.datasets.gold import read_gold
    from theanine_bench.datasets.registry import resolve_data_path
    from theanine_bench.tasks.memory import data_hash, memory_task

    kinds = kind or []
    data = resolve_data_path(data)
    plan = memory_task(
        read_gold(data, gold), data_hash(data, gold), options.judge, kinds, options.limit
    )
    perform_and_show(plan, options)
