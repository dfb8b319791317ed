"""Score what a method remembers, against gold memories and against its own source turns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from theanine_bench.cli.execution import run_and_show
from theanine_bench.cli.run_options import RunOptions, run_command
from theanine_bench.datasets.gold import read_gold
from theanine_bench.datasets.registry import resolve_data_path
from theanine_bench.tasks.memory import data_hash, memory_task


@run_command
def memory(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="LoCoMo, HaluMem, MSC's folder of persona summaries, or JSON Lines with memories.",
        ),
    ],
    *,
    gold: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Gold memories of these histories, by their names."),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only memories of this kind, such as statement; repeatable."
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Score what a method remembers, against gold memories and against its own source turns.

    Precision, recall and F1 of what memories say; shares of unsupported, repeated and empty ones.
    `rule/` compares words and needs no judge; with --judge a model reads as well. The results name
    the source turns of every memory.

    \b
    theanine bench memory locomo10.json
    theanine bench memory locomo10.json --model openai:gpt-4o-mini --judge openai:gpt-4o
    theanine bench memory msc_personasummary --method memory-update --limit 20
    """
    data = resolve_data_path(data)
    task = memory_task(
        read_gold(data, gold), data_hash(data, gold), options.judge, kind or [], options.limit
    )
    run_and_show(task, options)
