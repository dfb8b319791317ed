"""Answer a data set's questions about its histories, and score the answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from theanine_bench.cli.execution import run_and_show
from theanine_bench.cli.run_options import (
    AnswersOption,
    DataArgument,
    HistoriesOption,
    MetricsOption,
    RunOptions,
    run_command,
)
from theanine_bench.datasets.registry import resolve_data_path
from theanine_bench.tasks.qa import qa_task


@run_command
def qa(
    data: DataArgument,
    *,
    metric: MetricsOption = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            metavar="FILE",
            help="Questions about any histories: one a line, or JSON (default: the set's own).",
        ),
    ] = None,
    answers: AnswersOption = None,
    histories: HistoriesOption = None,
    merge: Annotated[
        int, typer.Option(min=1, metavar="N", help="Histories that share one memory.")
    ] = 1,
    options: RunOptions,
) -> None:
    """Answer a data set's questions about its histories, and score the answers.

    The method remembers each history, then answers its questions. Means have 95 % intervals;
    failures are counted. The same command resumes the run in its folder. For one run's scores by a
    corrected key as well as by the set's own answers, see `bench rescore`.

    \b
    theanine bench qa locomo --model openai:gpt-4o-mini --judge openai:gpt-4o
    theanine bench qa locomo10.json --method secom --budget 2000 --limit 100
    theanine bench qa talks.jsonl --questions questions.json --model openai:gpt-4o-mini
    theanine bench qa locomo10.json --replay --out runs/qa-theanine-1a2b3c4d
    """
    task = qa_task(
        resolve_data_path(data),
        questions=questions,
        answers=answers,
        metrics=metric,
        judge=options.judge,
        histories=histories,
        limit=options.limit,
        merge=merge,
    )
    run_and_show(task, options)
