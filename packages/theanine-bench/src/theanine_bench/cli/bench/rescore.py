"""Score a run's answers again: by a corrected key, other metrics or another judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from theanine_bench.cli.execution import run_and_show
from theanine_bench.cli.prompts import read_prompts
from theanine_bench.cli.run_options import (
    AnswersOption,
    JudgingOptions,
    MetricsOption,
    run_command,
)
from theanine_bench.tasks.rescore import rescore_task


@run_command
def rescore(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    *,
    answers: AnswersOption = None,
    metric: MetricsOption = None,
    options: JudgingOptions,
) -> None:
    """Score a run's answers again: by a corrected key, other metrics or another judge.

    The target is not run again, and verdicts of the same judge on unchanged questions are kept, if
    the prompts are the same. The run itself stays as it is; the new scores have a folder of their
    own.

    \b
    theanine bench rescore runs/qa-theanine-1a2b3c4d --answers errors.json --judge openai:gpt-4o
    theanine bench rescore runs/qa-theanine-1a2b3c4d --metric rouge-l --metric f1:parlai
    """
    prompts = read_prompts(options.prompts)
    task = rescore_task(run, answers, metric, options.judge, options.limit, prompts)
    run_and_show(task, options, settings={"run": run.name})
