"""Test an agent with counterfactual questions about its past."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import typer

from theanine.cli.options import (
    BaseUrlOption,
    JsonOption,
    ModelOption,
    ModelSettingsOption,
    TimeoutOption,
    show_json,
)
from theanine.cli.output import progress
from theanine.cli.rendering import console, pluralize, show_table
from theanine.errors import BadInput, NotFound, SettingsError
from theanine.importers import read_histories
from theanine.llm.limits import Limits
from theanine.llm.open import open_chat
from theanine.types import History
from theanine_bench.analysis.tables import Row, insert_rows, load_tables
from theanine_bench.cli.execution import exit_unless_complete, run_or_replay, show_summary
from theanine_bench.cli.prompts import read_prompts
from theanine_bench.cli.run_options import (
    PromptsOption,
    RunOptions,
    parse_model_settings,
    run_command,
)
from theanine_bench.datasets.registry import resolve_data_path
from theanine_bench.runs.folder import RunFolder
from theanine_bench.statistics.intervals import Interval
from theanine_bench.targets.external import EXTERNAL
from theanine_bench.teafarm.generate import write_question_file
from theanine_bench.teafarm.metrics import SUCCESS_BY_PAPER, SUCCESS_BY_RULE
from theanine_bench.teafarm.report import Report
from theanine_bench.teafarm.sources import read_store_histories
from theanine_bench.teafarm.task import load_task

teafarm = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=__doc__)

OPEN_RULE = "an answer that leaves the question open is incorrect"
PAPER_RULE = "the paper's rule (figure 26), which leaves open answers to the judge"
StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store", metavar="FILE", help="Store to take the earlier sessions from; it is only read."
    ),
]


@teafarm.command()
def make(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Question file to write.")],
    data: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="A history in any imported format.")
    ] = None,
    store: StoreOption = None,
    user: Annotated[
        list[str] | None, typer.Option("--user", metavar="NAME", help="Only this user; repeatable.")
    ] = None,
    questions: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of questions that each speaker asks.")
    ] = 1,
    temperature: Annotated[
        float, typer.Option(min=0.0, metavar="T", help="Model temperature, by default the paper's.")
    ] = 0.75,
    model: ModelOption = "local",
    base_url: BaseUrlOption = None,
    model_settings: ModelSettingsOption = None,
    prompts: PromptsOption = None,
    timeout: TimeoutOption = None,
) -> None:
    """Write counterfactual questions about any conversations, each with a session that leads to it.

    A question presupposes something false about the past. You can edit the file. Running the same
    command again adds missing questions and keeps the others. Without a model the questions are
    left blank for you to fill in, each with a memory as evidence.

    \b
    theanine teafarm make talks.jsonl --model openai:gpt-4o --out questions.txt
    theanine teafarm make --store memory.db --user ana --model openai:gpt-4o --out questions.txt
    """
    if (data is None) == (store is None):
        raise SettingsError("name either a history file or a store with --store")
    settings = {"temperature": temperature} | (
        parse_model_settings(model_settings, "--model-set") or {}
    )
    chat = open_chat(model, base_url=base_url, settings=settings)
    data = data and resolve_data_path(data)
    histories = _read_histories(data, store, user or [])
    with progress(len(histories), "questions") as step:
        write = partial(
            write_question_file, histories, out, data=data, store=store, model=chat,
            per_speaker=questions, limits=Limits().with_timeout(timeout),
            prompts=read_prompts(prompts), progress=lambda _: step(),
        )  # fmt: skip
        results = anyio.run(write)
    blank = "" if chat else " to fill in: no language model is configured (--model)"
    print(f"{out}: {pluralize(sum(result.questions for result in results), 'questions')}{blank}")
    failed = [result for result in results if result.failure]
    for result in failed:
        print(f"{result.user}: no questions: {result.failure}", file=sys.stderr)
    if failed:
        raise typer.Exit(1)


def _read_histories(data: Path | None, store: Path | None, users: list[str]) -> Sequence[History]:
    if data is None:
        return anyio.run(read_store_histories, str(store), users)
    histories = read_histories(data).histories
    names = [history.name for history in histories]
    if unknown := [user for user in users if user not in names]:
        raise NotFound(f"{data} has no user {unknown[0]}; it has {', '.join(names[:10])}")
    return [history for history in histories if not users or history.name in users]


@teafarm.command()
@run_command
def run(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Questions written by `make`, or TeaBag as published."),
    ],
    *,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DATA", help="Earlier sessions, in any imported format."),
    ] = None,
    store: StoreOption = None,
    min_success: Annotated[
        float | None,
        typer.Option(
            "--min-success",
            min=0.0,
            max=1.0,
            metavar="SHARE",
            help="Exit with 1 if a smaller share of all questions is answered correctly.",
        ),
    ] = None,
    agent_url: Annotated[
        str | None,
        typer.Option(
            "--agent-url",
            metavar="URL",
            help="Test an external agent behind this OpenAI-compatible URL.",
        ),
    ] = None,
    agent_model: Annotated[
        str,
        typer.Option("--agent-model", metavar="NAME", help="Model named in the agent's requests."),
    ] = "agent",
    history: Annotated[
        Literal["sent", "replayed", "none"],
        typer.Option(
            "--history",
            metavar="HOW",
            help="How the external agent gets the earlier sessions: sent with each request, "
            "replayed turn by turn first (for an agent with its own memory), or none (it has "
            "them).",
        ),
    ] = "sent",
    options: RunOptions,
) -> None:
    """Ask the questions, and count the right answers.

    The agent remembers the earlier sessions, gets the new session, and is then asked. A judge says
    Correct or Incorrect; without one, the questions' own phrases decide. Exits with 1 if the run is
    incomplete, or below --min-success.

    \b
    theanine teafarm run questions.txt --model openai:gpt-4o-mini --judge openai:gpt-4o
    theanine teafarm run questions.txt --store memory.db --min-success 0.9
    theanine teafarm run questions.txt --agent-url http://localhost:8000/v1 --judge openai:gpt-4o
    """
    if agent_url:
        options = replace(
            options,
            method=EXTERNAL,
            model=agent_model if ":" in agent_model else f"openai:{agent_model}",
            base_url=agent_url,
            settings=[f"history={history}"],
        )
    load = partial(
        load_task,
        resolve_data_path(file),
        judge=options.judge,
        data=data and resolve_data_path(data),
        store=None if store is None else str(store),
        limit=options.limit,
        history_mode=history if agent_url else None,
    )
    outcome = run_or_replay(anyio.run(load), options, show=_show_run)
    if outcome is None:
        return
    folder, summary = outcome
    if min_success is not None and (success := _read_report(folder).success) < min_success:
        print(
            f"{success:.3f} of all questions are answered correctly, less than the required "
            f"{min_success:g}; `theanine teafarm report {folder.path}` shows the others",
            file=sys.stderr,
        )
        raise typer.Exit(1)
    exit_unless_complete(summary)


def _show_run(summary: dict[str, Any]) -> None:
    show_summary(summary)
    if SUCCESS_BY_RULE in summary["metrics"]:
        print("success by rule: the questions' own phrases decided, no judge read the replies")
    if SUCCESS_BY_PAPER in summary["metrics"]:
        print(f"success: {OPEN_RULE}; {SUCCESS_BY_PAPER}: {PAPER_RULE}")


@teafarm.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    as_json: JsonOption = False,
) -> None:
    """Show a run: success next to the paper's, and each wrong answer with what was recalled.

    \b
    theanine teafarm report runs/teafarm-theanine-1a2b3c4d
    """
    report = _read_report(RunFolder(folder))
    if as_json:
        show_json(
            {
                "success": report.success,
                "success_by_paper": report.success_by_paper,
                "by_rule": report.by_rule,
                "questions": report.total,
                "lines": [asdict(line) for line in report.lines],
                "fooled": [result.record() for result in report.incorrect],
                "failed": [result.record() for result in report.errors],
            }
        )
        return
    by_paper = report.success_by_paper is not None
    show_table(
        [
            "success",
            "mean",
            "95 %",
            *(["by paper", "95 %"] if by_paper else []),
            "n",
            "unanswered",
            "unjudged",
        ],
        (
            [
                line.name,
                *_mean_and_interval(line.success),
                *(_mean_and_interval(line.success_by_paper) if by_paper else ()),
                line.success.n if line.success else 0,
                line.unanswered,
                line.unjudged,
            ]
            for line in report.lines
        ),
    )
    if by_paper:
        print(f"success: {OPEN_RULE}; by paper: {PAPER_RULE}")
    console().print(f"\n{report}\n", markup=False, soft_wrap=True)
    _show_paper_table(report)


def _mean_and_interval(success: Interval | None) -> tuple[str, str]:
    if success is None:
        return "–", "–"
    return f"{success.mean:.3f}", f"{success.low:.3f} – {success.high:.3f}"


def _show_paper_table(report: Report) -> None:
    """Print the paper's table, with the run in it if its questions are of the same sets.

    A judged run is in it by the paper's rule.
    """
    (table,) = load_tables(["teafarm"])
    sets = {line.name: line.success_by_paper or line.success for line in report.data_sets}
    success = [sets.get(column.name) for column in table.columns]
    values = tuple(interval and interval.mean for interval in success)
    rows = [Row(f"this run ({report.method})", report.method, values)] if any(success) else []
    print(f"{table.paper}, {table.location}: {table.description}")
    show_table(
        ["", *(column.name for column in table.columns)],
        (
            [row.label, *("–" if value is None else f"{value:.2f}" for value in row.values)]
            for row in insert_rows(table, rows)
        ),
    )


def _read_report(folder: RunFolder) -> Report:
    settings = folder.settings()
    if settings["bench"] != "teafarm":
        raise BadInput(f"it holds a run of {settings['bench']}", str(folder.path))
    return Report(
        results=list(folder.results().values()),
        total=settings["samples"],
        folder=str(folder.path),
        method=settings["config"]["method"],
    )
