"""What the benches with runs share: performing one with live progress, and the table at the end."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from theanine.cli.common import named, show_json
from theanine.cli.show import console, show_table

if TYPE_CHECKING:
    from theanine.cli.runs.options import RunOptions
    from theanine.evaluation.runs.folder import RunFolder
    from theanine.evaluation.runs.running import Progress
    from theanine.evaluation.runs.setup import Plan, Setup


def setup_of(options: RunOptions) -> Setup:
    """The agent and the judge that the options name."""
    from theanine.evaluation.runs.setup import Setup

    return Setup(
        method=options.method,
        settings=named(options.settings or []) or {},
        model=options.model,
        base_url=options.base_url,
        embedder=options.embedder,
        budget=options.budget,
        judge=options.judge,
        judge_base_url=options.judge_base_url,
        seed=options.seed,
    )


def perform_and_show(plan: Plan, options: RunOptions) -> None:
    """Run the plan, or replay it, with live progress; exit with 1 when it is not complete."""
    import anyio

    from theanine.evaluation.runs.folder import RunFolder
    from theanine.evaluation.runs.perform import Bounds, perform

    setup = setup_of(options)
    folder = None if options.out is None else RunFolder(options.out)
    if options.replay:
        _replay(plan, setup, folder)
        return
    with _Live() as live:

        async def run() -> tuple[RunFolder, dict[str, Any]]:
            bounds = Bounds(concurrency=options.concurrency, money=options.max_cost)
            return await perform(plan, setup, folder, bounds=bounds, progress=live.show)

        folder, summary = anyio.run(run)
    if options.as_json:
        show_json(summary)
    else:
        show_summary(summary)
        console().print(f"\n{folder.path}", markup=False)
    if summary["done"] < summary["cases"] or summary["failures"]:
        raise typer.Exit(1)


def _replay(plan: Plan, setup: Setup, folder: RunFolder | None) -> None:
    import anyio

    from theanine.errors import SettingsError
    from theanine.evaluation.runs.replay import replay

    if folder is None:
        raise SettingsError("name the folder of the run to replay with --out")
    done = anyio.run(replay, plan, setup, folder)
    if done.different:
        print(f"{len(done.different)} of {len(done.items)} items differ, the first is "
              f"{done.different[0]}")  # fmt: skip
        raise typer.Exit(1)
    print(f"{len(done.items)} items, all the same to the byte; no model was asked")


def show_summary(summary: Mapping[str, Any]) -> None:
    """Measures with their intervals, by category; what failed; what it took."""
    categories = {name: of for name, of in summary["categories"].items() if name}
    if len(categories) < 2:
        categories = {}
    measures: Mapping[str, Mapping[str, Any]] = summary["measures"]
    show_table(
        ["measure", "mean", "95 %", "n", "failed", *categories],
        (
            [
                name,
                f"{one['mean']:.3f}",
                f"{one['low']:.3f} – {one['high']:.3f}",
                one["n"],
                one["failed"],
                *(_mean(of.get(name)) for of in categories.values()),
            ]
            for name, one in measures.items()
        ),
    )
    for name, value in summary["corpus"].items():
        told = f"{value:.3f}" if isinstance(value, float) else value
        console().print(f"{name}: {told}", markup=False)
    _show_spent(summary)
    for why, count in summary["failures"].items():
        console().print(f"failed {count} ×: {why}", markup=False)
    for reason, count in summary["dropped"].items():
        console().print(f"dropped: {count} {reason}", markup=False)
    if summary["done"] < summary["cases"]:
        console().print(
            f"{summary['done']} of {summary['cases']} cases are done"
            + (f": {summary['stopped']}" if summary["stopped"] else "")
            + "; the same command goes on",
            markup=False,
        )


def _mean(one: Mapping[str, Any] | None) -> str:
    return "–" if one is None else f"{one['mean']:.3f} ({one['n']})"


def _show_spent(summary: Mapping[str, Any]) -> None:
    seconds, tokens = summary["seconds"], summary["recalled_tokens"]
    parts = [f"{summary['done']} cases"]
    if tokens is not None:
        parts.append(f"{tokens:,.0f} tokens recalled each")
    if seconds:
        parts.append(f"an answer p50 {seconds['p50']:.3f} s, p95 {seconds['p95']:.3f} s")
    console().print("; ".join(parts), markup=False)
    for what, sums in summary["spent"].items():
        cost = "of unknown price" if sums["cost"] is None else f"${sums['cost']:,.4f}"
        console().print(
            f"{what}: {sums['calls']:,} calls, {sums['input_tokens']:,} tokens in, "
            f"{sums['output_tokens']:,} out, {cost}",
            markup=False,
        )


class _Live:
    """One line that says how far the run is, on a terminal; nothing elsewhere."""

    def __enter__(self) -> _Live:
        return self

    def __exit__(self, *_: object) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\n")

    def show(self, progress: Progress) -> None:
        """Write the line anew."""
        if not sys.stderr.isatty():
            return
        spent = "" if progress.spent is None else f"  ${progress.spent:,.4f}"
        failed = f"  {progress.failed} failed" if progress.failed else ""
        sys.stderr.write(f"\r\x1b[K{progress.done} of {progress.total}{failed}{spent}")
        sys.stderr.flush()
