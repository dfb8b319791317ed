"""What the benches with runs share: their options, live progress, and the table at the end."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theanine.cli.common import named, show_json
from theanine.cli.show import console, show_table

if TYPE_CHECKING:
    from theanine.evaluation.runs.folder import RunFolder
    from theanine.evaluation.runs.running import Progress
    from theanine.evaluation.runs.setup import Plan, Setup

JudgeOption = Annotated[
    str,
    typer.Option(
        "--judge",
        envvar="THEANINE_JUDGE",
        metavar="NAME",
        help="The judging model, such as openai:gpt-4o; `local` leaves out what needs a judge.",
    ),
]
JudgeUrlOption = Annotated[
    str | None,
    typer.Option(
        "--judge-base-url",
        envvar="THEANINE_JUDGE_BASE_URL",
        metavar="URL",
        help="An OpenAI-compatible server for the judge.",
    ),
]
RunOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FOLDER",
        help="The run's folder; else one in `runs` that the settings name. The same again goes on.",
    ),
]
LimitOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Only so many cases, evenly spread.")
]
ConcurrencyOption = Annotated[
    int, typer.Option(min=1, metavar="N", help="Cases, and model calls, at once.")
]
MoneyOption = Annotated[
    float | None,
    typer.Option("--max-cost", min=0.0, metavar="DOLLARS", help="Begin no case beyond this."),
]
ReplayOption = Annotated[
    bool,
    typer.Option("--replay", help="Do the run again from its journal, with no model, and compare."),
]
SeedOption = Annotated[int, typer.Option(metavar="N", help="Of whatever the method draws.")]
TokensOption = Annotated[
    int | None, typer.Option("--budget", min=0, metavar="N", help="Tokens of each recollection.")
]


def setup_of(
    method: str,
    settings: list[str] | None,
    model: str,
    base_url: str | None,
    embedder: str,
    judge: str,
    judge_base_url: str | None,
    budget: int | None,
    seed: int,
) -> Setup:
    """The set-up that the options name."""
    from theanine.evaluation.runs.setup import Setup

    return Setup(
        method=method,
        settings=named(settings or []) or {},
        model=model,
        base_url=base_url,
        embedder=embedder,
        budget=budget,
        judge=judge,
        judge_base_url=judge_base_url,
        seed=seed,
    )


def perform_and_show(
    plan: Plan,
    setup: Setup,
    out: Path | None,
    *,
    concurrency: int,
    money: float | None,
    replayed: bool,
    as_json: bool,
) -> None:
    """Run the plan, or replay it, with live progress; exit with 1 when it is not complete."""
    import anyio

    from theanine.evaluation.runs.folder import RunFolder
    from theanine.evaluation.runs.perform import Bounds, perform

    folder = None if out is None else RunFolder(out)
    if replayed:
        _replay(plan, setup, folder)
        return
    with _Live() as live:

        async def run() -> tuple[RunFolder, dict[str, Any]]:
            bounds = Bounds(concurrency=concurrency, money=money)
            return await perform(plan, setup, folder, bounds=bounds, progress=live.show)

        folder, summary = anyio.run(run)
    if as_json:
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
