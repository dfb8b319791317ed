"""Generate the turns of later sessions, and compare them with what was said."""

from __future__ import annotations

from typing import Annotated

import typer

from theanine.errors import SettingsError
from theanine_bench.cli.execution import run_and_show
from theanine_bench.cli.run_options import (
    DataArgument,
    HistoriesOption,
    MetricsOption,
    RunOptions,
    run_command,
)
from theanine_bench.datasets.registry import resolve_data_path
from theanine_bench.targets.gold_memory import GOLD_MEMORY
from theanine_bench.tasks.responses import responses_task


@run_command
def responses(
    data: DataArgument,
    *,
    sessions: Annotated[
        str, typer.Option(metavar="FIRST-LAST", help="Sessions whose turns are generated.")
    ] = "3-5",
    speaker: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Only the turns of the Nth speaker of a session, such as 2 (default: of all).",
        ),
    ] = None,
    metric: MetricsOption = None,
    histories: HistoriesOption = None,
    options: RunOptions,
) -> None:
    """Generate the turns of later sessions, and compare them with what was said.

    Before each session all earlier ones are remembered, and no later one is known. `--method
    gold-memory` replies from MSC's personas instead of memories. The program of LLM-Rsum's authors
    generates the turns of the second speaker alone: `--speaker 2`.

    \b
    theanine bench responses msc --model openai:gpt-4o-mini --histories 50
    theanine bench responses cc.json --method memory-retrieval --limit 200
    """
    task = responses_task(
        resolve_data_path(data),
        _parse_range(sessions),
        speaker=speaker,
        metrics=metric,
        judge=options.judge,
        histories=histories,
        limit=options.limit,
        gold_memory=options.method == GOLD_MEMORY,
    )
    run_and_show(task, options)


def _parse_range(text: str) -> range:
    first, _, last = text.partition("-")
    try:
        numbers = range(int(first), int(last or first) + 1)
    except ValueError:
        numbers = range(0)
    if not numbers or numbers[0] < 1:
        raise SettingsError(f"--sessions {text}: write it as 3-5, or as one number")
    return numbers
