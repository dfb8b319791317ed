"""What the benches with runs share: performing one with live progress, and the table at the end."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from theanine.cli.options import parse_settings, show_json
from theanine.cli.rendering import console, pluralize, show_table

if TYPE_CHECKING:
    from theanine_bench.cli.runs.options import JudgingOptions, RunOptions
    from theanine_bench.config import RunConfig
    from theanine_bench.runs.folder import RunFolder
    from theanine_bench.runs.task import Task


def setup_of(
    options: RunOptions | JudgingOptions, about: Mapping[str, object] | None = None
) -> RunConfig:
    """The agent and the judge that the options name; ``about`` joins the settings."""
    from theanine_bench.cli.runs.options import JudgingOptions
    from theanine_bench.config import NO_METHOD, RunConfig

    if isinstance(options, JudgingOptions):
        base_url = options.judge_base_url
        return RunConfig(
            method=NO_METHOD, settings=about or {}, judge=options.judge, judge_base_url=base_url
        )
    return RunConfig(
        method=options.method,
        settings={**(parse_settings(options.settings or []) or {}), **(about or {})},
        model=options.model,
        base_url=options.base_url,
        embedder=options.embedder,
        budget=options.budget,
        judge=options.judge,
        judge_base_url=options.judge_base_url,
        seed=options.seed,
    )


def perform_and_show(
    plan: Task,
    options: RunOptions | JudgingOptions,
    *,
    show: Callable[[dict[str, Any]], None] | None = None,
    about: Mapping[str, object] | None = None,
) -> None:
    """Run the plan, or replay it, with live progress; exit with 1 when it is not complete.

    ``show`` prints the summary; ``about`` joins the settings of the run.
    """
    from theanine_bench.cli.runs.live import Live
    from theanine_bench.cli.runs.report import write_report
    from theanine_bench.runs.folder import RunFolder
    from theanine_bench.runs.runner import RunLimits, run_task

    setup = setup_of(options, about or {})
    folder = None if options.out is None else RunFolder(options.out)
    if options.replay:
        _replay(plan, setup, folder)
        return
    with Live(plan) as live:
        run = partial(
            run_task,
            plan,
            setup,
            folder,
            limits=RunLimits(concurrency=options.concurrency, max_cost=options.max_cost),
            progress=live.tell,
            command=options.command,
        )
        folder, summary = _unless_stopped(run)
    page = write_report(folder.path)
    if options.as_json:
        show_json(summary)
    else:
        (show or show_summary)(summary)
        console().print(f"\n{page}", markup=False)
    _exit(summary)


def _unless_stopped(
    run: Callable[[], Awaitable[tuple[RunFolder, dict[str, Any]]]],
) -> tuple[RunFolder, dict[str, Any]]:
    import anyio

    try:
        return anyio.run(run)
    except KeyboardInterrupt:
        print("\nstopped; the same command goes on", file=sys.stderr)
        raise typer.Exit(130) from None


def _exit(summary: Mapping[str, Any]) -> None:
    """With 1 where something is left or failed."""
    if summary["done"] < summary["samples"] or summary["failures"]:
        raise typer.Exit(1)


def _replay(
    plan: Task,
    setup: RunConfig,
    folder: RunFolder | None,
) -> None:
    import anyio

    from theanine.errors import SettingsError
    from theanine_bench.runs.replay import replay

    if folder is None:
        raise SettingsError("name the folder of the run to replay with --out")
    done = anyio.run(partial(replay, plan, setup, folder))
    if done.different:
        print(f"{len(done.different)} of {pluralize(len(done.results), 'items')} differ, the first "
              f"is {done.different[0]}")  # fmt: skip
        raise typer.Exit(1)
    print(f"{pluralize(len(done.results), 'items')}, all the same to the byte; no model was asked")


def show_summary(summary: Mapping[str, Any]) -> None:
    """Measures with their intervals, by category; what failed; what it took."""
    categories = {name: of for name, of in summary["categories"].items() if name}
    if len(categories) < 2:
        categories = {}
    measures: Mapping[str, Mapping[str, Any]] = summary["metrics"]
    show_table(
        ["measure", "mean", "95 %", "n", "failed", *categories],
        (
            [
                name,
                *_with_interval(one),
                one["n"],
                one["failed"],
                *(_mean(of.get(name)) for of in categories.values()),
            ]
            for name, one in measures.items()
        ),
    )
    corpus: Mapping[str, Any] = summary["corpus"]
    show_rest(
        summary,
        [
            f"{name}: {f'{value:.3f}' if isinstance(value, float) else value}"
            for name, value in corpus.items()
        ],
    )


def show_rest(summary: Mapping[str, Any], lines: Sequence[str] = ()) -> None:
    """What stands under a run's table: these lines, what it took, what failed, what is left."""
    for line in lines:
        console().print(line, markup=False)
    _show_spent(summary)
    for why, count in summary["failures"].items():
        console().print(f"failed {count} ×: {why}", markup=False)
    for reason, count in summary["dropped"].items():
        console().print(f"dropped: {pluralize(count, reason)}", markup=False)
    if summary["done"] < summary["samples"]:
        console().print(
            f"done: {summary['done']} of {pluralize(summary['samples'], 'cases')}"
            + (f": {summary['stopped']}" if summary["stopped"] else "")
            + "; the same command goes on",
            markup=False,
        )


def _with_interval(one: Mapping[str, Any]) -> tuple[str, str]:
    if not one["n"]:
        return "–", "–"
    return f"{one['mean']:.3f}", f"{one['low']:.3f} – {one['high']:.3f}"


def _mean(one: Mapping[str, Any] | None) -> str:
    return f"{one['mean']:.3f} ({one['n']})" if one and one["n"] else "–"


def _show_spent(summary: Mapping[str, Any]) -> None:
    seconds, tokens = summary["seconds"], summary["recalled_tokens"]
    parts = [pluralize(summary["done"], "cases")]
    if tokens:  # none where nothing was to be recalled, as where runs are compared
        parts.append(f"{tokens:,.0f} tokens recalled each")
    if seconds:
        parts.append(f"an answer p50 {seconds['p50']:.3f} s, p95 {seconds['p95']:.3f} s")
    console().print("; ".join(parts), markup=False)
    for what, sums in summary["spent"].items():
        cost = "of unknown price" if sums["cost"] is None else f"${sums['cost']:,.4f}"
        console().print(
            f"{what}: {pluralize(sums['calls'], 'calls')}, "
            f"{pluralize(sums['input_tokens'], 'tokens')} in, {sums['output_tokens']:,} out, "
            f"{cost}",
            markup=False,
        )
