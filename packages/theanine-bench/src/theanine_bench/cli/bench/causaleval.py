"""Measure links, evidence and answers on CausalEval."""

from __future__ import annotations

from typing import Any

from theanine.cli.rendering import console
from theanine_bench.cli.execution import run_and_show, show_summary
from theanine_bench.cli.run_options import DataArgument, MetricsOption, RunOptions, run_command
from theanine_bench.datasets.registry import resolve_data_path
from theanine_bench.tasks.causaleval import causaleval_task


@run_command
def causaleval(data: DataArgument, *, metric: MetricsOption = None, options: RunOptions) -> None:
    """Measure links, evidence and answers on CausalEval.

    The method remembers the sessions of each graph and answers its questions. `evidence` is the
    share of a question's turns that were recalled, `evidence hit` whether any was, as the set's own
    program counts; `right` is the judge's. At the end, the gold edges between sessions that the
    method linked are counted.

    \b
    theanine bench causaleval causaleval
    theanine bench causaleval causaleval --model openai:gpt-4o-mini --judge openai:gpt-4o
    """
    task = causaleval_task(
        resolve_data_path(data), metrics=metric, judge=options.judge, limit=options.limit
    )
    run_and_show(task, options, show=_show)


def _show(summary: dict[str, Any]) -> None:
    show_summary(summary)
    if facts := summary.get("facts"):
        console().print(
            f"{facts['edges linked']} of {facts['edges']} gold edges between sessions are linked; "
            f"{facts['links on edges']} of {facts['links']} links are on one"
        )
