"""`theanine bench pairwise`: runs head to head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from theanine_bench.cli.runs.options import JudgingOptions, with_run_options


@with_run_options
def pairwise(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN…", help="Folders of runs over the same cases: A, B and so on."),
    ],
    *,
    criteria: Annotated[
        str, typer.Option(metavar="NAMES", help="By what, separated by commas.")
    ] = "specificity,memorability,consistency",
    options: JudgingOptions,
) -> None:
    """Which of two runs' answers are better, by a judge that sees them in both orders.

    A verdict that changes with the order is a tie, and is counted as a flip. Criteria: specificity,
    memorability, consistency, helpfulness (of what was recalled), overall, answer, gsb; and choice,
    which takes up to eight runs at once. p-values are SciPy's, two-sided, of the decided cases.

    \b
    theanine bench pairwise runs/ours runs/theirs --judge openai:gpt-4o
    theanine bench pairwise runs/ours runs/theirs --judge openai:gpt-4o --criteria gsb
    theanine bench pairwise runs/a runs/b runs/c --judge openai:gpt-4o --criteria choice
    """
    from theanine_bench.cli.runs.common import perform_and_show
    from theanine_bench.tasks.pairwise import pairwise_task, read_entries

    entries = read_entries(runs)
    names = [name for one in criteria.split(",") if (name := one.strip())]
    plan = pairwise_task(entries, names, options.limit)
    perform_and_show(
        plan,
        options,
        show=lambda summary: _show(summary, names, [entry.name for entry in entries]),
        about={letter: entry.name for letter, entry in zip("ABCDEFGH", entries, strict=False)},
    )


def _show(summary: Mapping[str, Any], criteria: Sequence[str], runs: Sequence[str]) -> None:
    """Shares of each run by criterion, then the judge's own bias, what failed and what it took."""
    from theanine.cli.rendering import console, show_table
    from theanine_bench.cli.runs.common import show_rest

    letters = "ABCDEFGH"[: len(runs)]
    for letter, run in zip(letters, runs, strict=True):
        console().print(f"{letter}: {run}", markup=False)
    pairs = len(runs) == 2
    heads = [
        *letters,
        "tie",
        *(["A, ties half", "p"] if pairs else []),
        "flips",
        "first",
        "n",
        "failed",
    ]
    rows: list[list[str]] = []
    for name in criteria:
        measures, corpus = summary["metrics"], summary["corpus"]
        if f"{name}/tie" not in measures:
            rows.append([name, *["–"] * (len(heads) - 2), "0", str(summary["done"])])
            continue
        shares = [_share(summary, name, one) for one in (*letters, "tie")]
        rate = [_rate(corpus, name), _number(corpus, f"{name}/p", ".4f")] if pairs else []
        bias = [_number(corpus, f"{name}/{one}", ".1%") for one in ("flips", "first")]
        n, failed = (str(measures[f"{name}/tie"][one]) for one in ("n", "failed"))
        rows.append([name, *shares, *rate, *bias, n, failed])
    show_table(["criterion", *heads], rows)
    show_rest(summary, [value for value in summary["corpus"].values() if isinstance(value, str)])


def _share(summary: Mapping[str, Any], name: str, run: str) -> str:
    """How often a run wins; among several with the p-value that it is luck."""
    share = f"{summary['metrics'][f'{name}/{run}']['mean']:.1%}"
    p = summary["corpus"].get(f"{name}/p {run}")
    return share if p is None else f"{share} (p {p:.4f})"


def _rate(corpus: Mapping[str, Any], name: str) -> str:
    if f"{name}/rate" not in corpus:
        return "–"
    mean, low, high = (corpus[f"{name}/{one}"] for one in ("rate", "low", "high"))
    return f"{mean:.1%} [{low:.1%}, {high:.1%}]"


def _number(corpus: Mapping[str, Any], name: str, form: str) -> str:
    return format(corpus[name], form) if name in corpus else "–"
