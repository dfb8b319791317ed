"""Compare the evidence that methods recall within token budgets."""

from __future__ import annotations

from typing import Annotated

import anyio
import typer

from theanine.cli.options import EmbedderOption, JsonOption, show_json
from theanine.cli.rendering import console, show_table
from theanine.cli.text import pluralize
from theanine.errors import SettingsError
from theanine_bench.cli.execution import execute, exit_unless_complete, kept_or_temporary, show_rest
from theanine_bench.cli.run_options import (
    CostOption,
    DataSetsArgument,
    MethodsOption,
    TargetModelOptions,
    TemporaryOutOption,
    resolve_data,
    run_command,
)
from theanine_bench.runs.runner import RunLimits
from theanine_bench.runs.saved_run import SavedRun, read_run
from theanine_bench.tasks.compare import compare_config
from theanine_bench.tasks.evidence import (
    ALL,
    BUDGETS,
    EvidenceTable,
    category_table,
    compare_default,
    data_names,
    evidence_task,
    parse_methods,
    result_table,
)

LEGEND = (
    "Mean share of a question's evidence [95 % interval] within a budget of tokens. * the best, "
    "= as good: the interval of the difference, paired by question, includes 0."
)


@run_command
def evidence(
    data: DataSetsArgument,
    methods: MethodsOption = ALL,
    budgets: Annotated[
        str, typer.Option(metavar="N,N", help="Token budgets of a recollection.")
    ] = ",".join(map(str, BUDGETS)),
    category_budget: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Budget of the table by category (default: the middle one)."
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Use at most N questions of a data set, evenly spaced."
        ),
    ] = None,
    *,
    models: TargetModelOptions,
    embedder: EmbedderOption = "local",
    out: TemporaryOutOption = None,
    max_cost: CostOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the evidence that methods recall within token budgets, side by side.

    Each method remembers each history in a store of its own, and recalls once for each question and
    budget. `all` also measures the default method without timelines and from timelines alone. The
    same command resumes the run in its folder.

    \b
    theanine bench evidence locomo beam-100k mt-bench-plus causaleval --out runs/evidence
    theanine bench evidence locomo --methods theanine,secom,utterance --limit 200
    theanine bench evidence locomo --methods theanine,theanine:timelines=false --budgets 500
    """
    compared, limits_of_tokens = parse_methods(methods), _parse_budgets(budgets)
    at = category_budget or limits_of_tokens[len(limits_of_tokens) // 2]
    if at not in limits_of_tokens:
        raise SettingsError(f"--category-budget {at}: name one of --budgets {budgets}")
    config = compare_config(compared, **models.model_config(), embedder=embedder)
    task = evidence_task(
        resolve_data(data),
        [one.label for one in compared],
        budgets=limits_of_tokens,
        limit=limit,
    )
    # One at a time, to measure recall times.
    limits = RunLimits(concurrency=1, max_cost=max_cost, timeout=models.timeout)
    with kept_or_temporary(out, keep=models.asks_model) as folder:
        folder, summary = execute(task, config, folder, limits)
        run = anyio.run(read_run, folder.path)
    if as_json:
        show_json(summary)
    else:
        _show(run, at)
    exit_unless_complete(summary)


def _parse_budgets(text: str) -> list[int]:
    """Return the budgets in ascending order. Raises SettingsError for what is no number."""
    parts = [part.strip().replace("_", "") for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() for part in parts):
        raise SettingsError(f"--budgets {text!r}: write whole numbers, such as 500,2000")
    return sorted({int(part) for part in parts})


def _show(run: SavedRun, category_budget: int) -> None:
    whole = result_table(run)
    for data in data_names(run):
        table = EvidenceTable(run, data)
        console().print(f"\n{data}, {pluralize(table.n, 'questions')}", style="bold", markup=False)
        rows = [[label, *cells] for name, label, _, *cells in whole.rows if name == data]
        show_table(["", *whole.columns[3:]], rows)
        for line in compare_default(table) if table.n else ():
            console().print(line, markup=False)
        for label in table.labels:
            if over := table.over_budget(label):
                text = (
                    f"{label}: {pluralize(over, 'recollections')} with more tokens than the budget"
                )
                console().print(text, markup=False)
        by_category = category_table(run, data, category_budget)
        if len(by_category.columns) > 2:
            console().print(f"\n{data}, within {category_budget:,} tokens by category")
            show_table(by_category.columns, by_category.rows)
    console().print(f"\n{LEGEND}", style="dim", markup=False)
    show_rest(run.summary)
