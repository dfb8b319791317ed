"""`theanine bench rescore`: a run's answers measured anew, and nobody asked again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from theanine_bench.cli.runs.answers import AnswersOption, MeasuresOption
from theanine_bench.cli.runs.options import JudgingOptions, with_run_options


@with_run_options
def rescore(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of a run of `bench qa` or another.")
    ],
    *,
    answers: AnswersOption = None,
    measure: MeasuresOption = None,
    options: JudgingOptions,
) -> None:
    """Measure a run's answers again: by a corrected key, other measures or another judge.

    Nobody is asked again; what the same judge said of a question whose answer stays is taken over.
    The run itself is left as it is, and the new figures have a folder of their own.

    \b
    theanine bench rescore runs/qa-theanine-1a2b3c4d --answers errors.json --judge openai:gpt-4o
    theanine bench rescore runs/qa-theanine-1a2b3c4d --measure rouge-l --measure f1:parlai
    """
    from theanine_bench.cli.runs.common import perform_and_show
    from theanine_bench.tasks.rescore import rescore_task

    plan = rescore_task(run, answers, measure, options.judge, options.limit)
    perform_and_show(plan, options, about={"run": run.name})
