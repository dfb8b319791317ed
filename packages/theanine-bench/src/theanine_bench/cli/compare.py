"""Compare what methods recall of the same history."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import anyio
import typer

from theanine.cli.options import (
    EmbedderOption,
    RerankedOption,
    RerankerOption,
    notify_if_local,
)
from theanine.cli.output import check_writable, write_text
from theanine.cli.rendering import console, pluralize, show_table, visible
from theanine.demo import HARBOUR
from theanine.errors import SettingsError
from theanine_bench.cli.execution import (
    execute,
    exit_unless_complete,
    kept_or_temporary,
    replay_and_show,
)
from theanine_bench.cli.run_options import (
    BudgetOption,
    CostOption,
    ReplayOption,
    TargetModelOptions,
    TemporaryOutOption,
    run_command,
)
from theanine_bench.datasets.questions import read_questions
from theanine_bench.metrics.evidence import EVIDENCE
from theanine_bench.report import compare_page
from theanine_bench.runs.folder import RunFolder
from theanine_bench.runs.runner import RunLimits
from theanine_bench.runs.saved_run import SavedRun, read_run
from theanine_bench.samples import ANSWER, SampleResult
from theanine_bench.tasks.compare import (
    ComparedMethod,
    compare_config,
    compare_task,
    evidence_table,
    method_results,
    result_table,
    unknown_sources,
)
from theanine_bench.tasks.export import export_run

DEFAULT_METHODS = "theanine,memory-retrieval,exchange,full-history,no-memory"
DEFAULT_LIMIT = 20
LINES = 4
"""Lines of a recollection that the terminal shows; ``--html`` and ``--json`` have all of it."""
WIDTH = 160
LEGEND = (
    "failed: sessions not remembered; given back: tokens for a question; evidence: of the labelled "
    "turns, those that came back; precision: of the turns that came back, those labelled; calls: "
    "of the model, to remember + to recall; tokens: to the model + from it"
)


@run_command
def compare(
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="History in any format that `import` takes, or a store (default: a bundled one).",
        ),
    ] = None,
    methods: Annotated[
        str,
        typer.Option(
            metavar="A,B,C",
            help="Methods. LABEL=METHOD names one, to compare it with other settings of its own.",
        ),
    ] = DEFAULT_METHODS,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Questions: one a line, or JSON (default: the data's own, or its turns).",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, metavar="N", help="Ask at most N questions, evenly spaced.")
    ] = DEFAULT_LIMIT,
    budget: BudgetOption = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="[LABEL.]NAME=VALUE",
            help="Setting of all methods, such as paper=true, or of one: theanine.retrieved=5.",
        ),
    ] = None,
    *,
    models: TargetModelOptions,
    embedder: EmbedderOption = "local",
    reranker: RerankerOption = None,
    rerank_depth: RerankedOption = None,
    out: TemporaryOutOption = None,
    max_cost: CostOption = None,
    replay: ReplayOption = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the run's page there.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all results as JSON.")
    ] = None,
) -> None:
    """Compare what methods recall of the same history.

    With tokens, model calls, cost, time and disk space. Each method gets a store of its own; yours
    isn't touched. Data without questions is asked as the conversation went: before each session but
    the first is remembered, the last turn of a user in it. Where it is known which turns answer,
    evidence and precision have 95 % intervals, and differences from the first method with p-values
    of Fisher's randomization test, from five questions on.

    \b
    theanine compare
    theanine compare --data memory.db --methods theanine,secom
    theanine compare --data locomo10.json --methods theanine,exchange,session --html compared.html
    theanine compare --data talks.jsonl --questions questions.txt --model openai:gpt-4o-mini
    theanine compare --methods theanine,plain=theanine --set plain.timelines=false
    """
    if data is None:
        data = HARBOUR
        questions = questions or HARBOUR.with_suffix(".questions.json")
    compared = _parse_methods(methods, settings or [])
    config = compare_config(
        compared, reranker=reranker, rerank_depth=rerank_depth,
        **models.model_config(), embedder=embedder, budget=budget,
    )  # fmt: skip
    for file in filter(None, (html, json)):
        check_writable(file)
    task = compare_task([one.label for one in compared], *read_questions(data, questions), limit)
    if replay:
        replay_and_show(task, config, None if out is None else RunFolder(out))
        return
    if not models.asks_model:
        notify_if_local("local")
    # One at a time, to measure recall times.
    limits = RunLimits(concurrency=1, max_cost=max_cost, timeout=models.timeout)
    with kept_or_temporary(out, keep=models.asks_model) as folder:
        kept = folder is None or out is not None
        folder, summary = execute(task, config, folder, limits)
        run = anyio.run(read_run, folder.path, "" if out else data.name)
    if json is not None:
        write_text(json, export_run(run, "json"))
    if html is not None:
        write_text(html, compare_page(run))
    _show(run)
    for file in filter(None, (html, json, folder.path if kept else None)):
        console().print(f"wrote {file}", markup=False)
    if any(one.failures for one in method_results(run)):
        raise typer.Exit(1)
    exit_unless_complete(summary)


def _parse_methods(methods: str, settings: Sequence[str]) -> list[ComparedMethod]:
    """Return the methods with their settings. Raises SettingsError for what makes no sense."""
    named = [one.strip().partition("=") for one in methods.split(",") if one.strip()]
    labels = [label for label, _, _ in named]
    if not labels:
        raise SettingsError("--methods names none: give some, such as theanine,exchange")
    if len(set(labels)) < len(labels):
        raise SettingsError(
            f"--methods {methods!r}: name each once, or give the second a label of its own, such "
            "as theanine,plain=theanine"
        )
    chosen: dict[str, dict[str, object]] = {label: {} for label in labels}
    for setting in settings:
        place, equals, value = setting.partition("=")
        label, dot, name = place.rpartition(".")
        if not equals or (dot and label not in chosen):
            raise SettingsError(
                f"--set {setting}: write NAME=VALUE for all, or LABEL.NAME=VALUE for one of "
                f"{', '.join(labels)}"
            )
        for each in [label] if dot else labels:
            chosen[each][name] = value
    return [
        ComparedMethod(label=label, method=method or label, settings=chosen[label])
        for label, _, method in named
    ]


def _show(run: SavedRun) -> None:
    methods, table = method_results(run), result_table(run)
    first = max(methods, key=lambda one: one.turns)
    numbers = sorted({number for one in methods for number in one.results})
    console().print(
        f"{pluralize(first.turns, 'turns')} in {pluralize(first.sessions, 'sessions')}, "
        f"{pluralize(len(numbers), 'questions')}; the log alone takes {first.log / 1000:.0f} kB"
    )
    rows = ([int(cell) if cell.isdecimal() else cell for cell in row] for row in table.rows)
    show_table(table.columns, rows)
    console().print(LEGEND, style="dim")
    if (evidence := evidence_table(run)).rows:
        show_table(evidence.columns, evidence.rows)
    for number in numbers:
        results = {one.label: one.results[number] for one in methods if number in one.results}
        question = next(iter(results.values()))
        console().print(f"\nQ  {question.question}", style="bold", markup=False)
        if question.reference:
            console().print(f"   {question.reference}", style="green", markup=False)
        for label, result in results.items():
            for line in _lines(label, result, run.seconds.get(result.id)):
                console().print(line, markup=False)
    if unknown := unknown_sources(run):
        named = pluralize(len(unknown), "sources of questions")
        print(visible(f"{named} not in the data, left out: {', '.join(unknown)}"), file=sys.stderr)
    for one in methods:
        for where, why in one.failures.items():
            print(visible(f"{one.label}: {where} is not remembered: {why}"), file=sys.stderr)
    if not run.finished:
        done = f"{run.summary['done']} of {pluralize(run.summary['samples'], 'recalls')}"
        reason = f": {run.summary['stopped']}" if run.summary["stopped"] else ""
        print(f"done: {done}{reason}; the same command resumes the run", file=sys.stderr)


def _lines(label: str, result: SampleResult, seconds: float | None) -> Iterator[str]:
    facts = [pluralize(result.recalled_tokens, "tokens")]
    if seconds is not None:
        facts.append(f"{seconds * 1000:.0f} ms")
    if EVIDENCE in result.scores:
        facts.append(f"{result.scores[EVIDENCE]:.0%} of the evidence")
    yield f"   {label}: {', '.join(facts)}"
    if ANSWER in result.failures:
        yield f"     failed: {result.failures[ANSWER]}"
    elif not result.recalled:
        yield "     (nothing)"
    lines = [line for part in result.recalled for line in part["text"].splitlines()]
    for line in lines[:LINES]:
        yield f"     {line if len(line) <= WIDTH else line[:WIDTH].rstrip() + '…'}"
    if len(lines) > LINES:
        yield f"     … {pluralize(len(lines) - LINES, 'more lines')}"
