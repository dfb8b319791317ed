"""Run a task from the command line: live progress, page, summary, exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import typer

from theanine.cli.options import parse_settings, show_json
from theanine.cli.rendering import console, show_table
from theanine.cli.text import pluralize
from theanine.errors import SettingsError
from theanine_bench.cli.live import Live
from theanine_bench.cli.prompts import read_prompts
from theanine_bench.cli.run_options import (
    JudgingOptions,
    RunOptions,
    command_line,
    parse_model_settings,
)
from theanine_bench.config import NO_METHOD, RunConfig
from theanine_bench.report import bench_page
from theanine_bench.runs.folder import REPORT, RunFolder
from theanine_bench.runs.replay import replay
from theanine_bench.runs.runner import RunLimits, run_task
from theanine_bench.runs.saved_run import read_run
from theanine_bench.runs.summary import Summary
from theanine_bench.runs.task import Task


def run_config(options: JudgingOptions, settings: Mapping[str, object] | None = None) -> RunConfig:
    """Return the configuration that the options describe, with ``settings`` added."""
    config = RunConfig(
        method=NO_METHOD,
        settings=settings or {},
        judge=options.judge,
        judge_base_url=options.judge_base_url,
        judge_settings=parse_model_settings(options.judge_settings, "--judge-set"),
        prompts=read_prompts(options.prompts),
    )
    if not isinstance(options, RunOptions):
        return config
    return replace(
        config,
        method=options.method,
        settings={**(parse_settings(options.settings or []) or {}), **config.settings},
        **options.model_config(),
        embedder=options.embedder,
        budget=options.budget,
        seed=options.seed,
    )


def run_and_show(
    task: Task,
    options: JudgingOptions,
    *,
    show: Callable[[Summary], None] | None = None,
    settings: Mapping[str, object] | None = None,
) -> None:
    """Do as :func:`run_or_replay`, and exit with 1 if the run is incomplete."""
    if outcome := run_or_replay(task, options, show=show, settings=settings):
        exit_unless_complete(outcome[1])


def run_or_replay(
    task: Task,
    options: JudgingOptions,
    *,
    show: Callable[[Summary], None] | None = None,
    settings: Mapping[str, object] | None = None,
) -> tuple[RunFolder, Summary] | None:
    """Run a task and print its summary with ``show``, or replay it and return None.

    ``settings`` are added to the run's. A replay with differences exits with 1.
    """
    config = run_config(options, settings)
    folder = None if options.out is None else RunFolder(options.out)
    if options.replay:
        replay_and_show(task, config, folder)
        return None
    limits = RunLimits(
        concurrency=options.concurrency, max_cost=options.max_cost, timeout=options.timeout
    )
    folder, summary = execute(task, config, folder, limits)
    if options.as_json:
        show_json(summary)
    else:
        (show or show_summary)(summary)
        console().print(f"\n{folder.path / REPORT}", markup=False)
    return folder, summary


def execute(
    task: Task, config: RunConfig, folder: RunFolder | None, limits: RunLimits
) -> tuple[RunFolder, Summary]:
    """Run a task with live progress and write its page. Ctrl-C exits with 130."""
    with Live(task) as live:
        run = partial(
            run_task, task, config, folder,
            limits=limits, progress=live.update, command=command_line(),
        )  # fmt: skip
        try:
            folder, summary = anyio.run(run)
        except KeyboardInterrupt:
            print("\nstopped; the same command resumes the run", file=sys.stderr)
            raise typer.Exit(130) from None
    write_page(folder.path)
    return folder, summary


def write_page(run: Path) -> Path:
    """Write the page of the run in a folder; return its path. Raises BadInput for no run."""
    return RunFolder(run).write(REPORT, bench_page(anyio.run(read_run, run)))


@contextmanager
def kept_or_temporary(out: Path | None, *, keep: bool) -> Generator[RunFolder | None]:
    """Yield the folder ``out``, or without it None (the default folder) or a temporary folder."""
    if out is not None or keep:
        yield None if out is None else RunFolder(out)
        return
    with TemporaryDirectory(prefix="theanine-run-") as temporary:
        yield RunFolder(Path(temporary) / "run")


def exit_unless_complete(summary: Mapping[str, Any]) -> None:
    """Exit with 1 if samples are left or something failed."""
    if summary["done"] < summary["samples"] or summary["failures"]:
        raise typer.Exit(1)


def replay_and_show(task: Task, config: RunConfig, folder: RunFolder | None) -> None:
    if folder is None:
        raise SettingsError("name the folder of the run to replay with --out")
    outcome = anyio.run(replay, task, config, folder)
    results = pluralize(len(outcome.results), "results")
    if outcome.different:
        print(f"{len(outcome.different)} of {results} differ, the first is {outcome.different[0]}")
        raise typer.Exit(1)
    print(f"{results}, all identical; no model was called")


def show_summary(summary: Mapping[str, Any]) -> None:
    """Print scores with intervals and by category, failures, and costs."""
    categories = {name: means for name, means in summary["categories"].items() if name}
    if len(categories) < 2:
        categories = {}
    rows: list[list[object]] = []
    for name, mean in summary["metrics"].items():
        interval = ("–", "–")
        if mean["n"]:
            interval = f"{mean['mean']:.3f}", f"{mean['low']:.3f} – {mean['high']:.3f}"
        by_category = (_format_mean(means.get(name)) for means in categories.values())
        rows.append([name, *interval, mean["n"], mean["failed"], *by_category])
    show_table(["metric", "mean", "95 %", "n", "failed", *categories], rows)
    show_rest(summary, corpus_lines(summary))


def corpus_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return a line for each score over all results."""
    intervals = summary.get("corpus_intervals", {})
    lines: list[str] = []
    for name, value in summary["corpus"].items():
        text = f"{value:.3f}" if isinstance(value, float) else value
        if interval := intervals.get(name):
            text += f" [{interval['low']:.3f}, {interval['high']:.3f}]"
        lines.append(f"{name}: {text}")
    return lines


def show_rest(summary: Mapping[str, Any], lines: Sequence[str] = ()) -> None:
    """Print these lines, costs, failures and unfinished samples, below a run's table."""
    for line in lines:
        console().print(line, markup=False)
    _show_costs(summary)
    for reason, count in summary["failures"].items():
        console().print(f"failed {count} ×: {reason}", markup=False)
    for reason, count in summary["dropped"].items():
        console().print(f"dropped: {pluralize(count, reason)}", markup=False)
    if summary["done"] < summary["samples"]:
        reason = f": {summary['stopped']}" if summary["stopped"] else ""
        console().print(
            f"done: {summary['done']} of {pluralize(summary['samples'], 'samples')}{reason}; the "
            "same command resumes the run",
            markup=False,
        )


def _format_mean(mean: Mapping[str, Any] | None) -> str:
    return f"{mean['mean']:.3f} ({mean['n']})" if mean and mean["n"] else "–"


def _show_costs(summary: Mapping[str, Any]) -> None:
    seconds, tokens = summary["seconds"], summary["recalled_tokens"]
    parts = [pluralize(summary["done"], "samples")]
    if tokens:
        parts.append(f"{tokens:,.0f} tokens recalled on average")
    if seconds:
        parts.append(f"latency p50 {seconds['p50']:.3f} s, p95 {seconds['p95']:.3f} s")
    console().print("; ".join(parts), markup=False)
    for purpose, usage in summary["spent"].items():
        cost = "of unknown price" if usage["cost"] is None else f"${usage['cost']:,.4f}"
        console().print(
            f"{purpose}: {pluralize(usage['calls'], 'calls')}, "
            f"{pluralize(usage['input_tokens'], 'tokens')} in, {usage['output_tokens']:,} out, "
            f"{cost}",
            markup=False,
        )
