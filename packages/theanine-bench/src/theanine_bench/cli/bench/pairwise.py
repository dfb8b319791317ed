"""Compare the answers of runs head to head, by a judge that sees them in both orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from theanine.cli.rendering import console, show_table
from theanine_bench.cli.execution import run_and_show, show_rest
from theanine_bench.cli.run_options import JudgingOptions, run_command
from theanine_bench.judges.pairwise import LETTERS
from theanine_bench.tasks.pairwise import pairwise_task, read_entries


@run_command
def pairwise(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN…", help="Folders of runs of the same samples: A, B, ..."),
    ],
    *,
    criteria: Annotated[
        str, typer.Option(metavar="NAMES", help="Criteria, separated by commas.")
    ] = "specificity,memorability,consistency",
    golden: Annotated[
        bool,
        typer.Option("--golden", help="Compare with the references too, as with another run."),
    ] = False,
    options: JudgingOptions,
) -> None:
    """Compare the answers of runs head to head, by a judge that sees them in both orders.

    A verdict that changes with the order is a tie, and counts as a flip. Criteria: specificity,
    memorability, consistency, helpfulness (of what was recalled), overall, answer, gsb; and choice,
    which takes up to eight runs at once. p-values are SciPy's, two-sided, over the decided samples.

    \b
    theanine bench pairwise runs/ours runs/theirs --judge openai:gpt-4o
    theanine bench pairwise runs/ours --golden --judge openai:gpt-4o
    theanine bench pairwise runs/ours runs/theirs --judge openai:gpt-4o --criteria gsb
    theanine bench pairwise runs/a runs/b runs/c --judge openai:gpt-4o --criteria choice
    """
    entries = read_entries(runs, golden=golden)
    names = [name for part in criteria.split(",") if (name := part.strip())]
    run_and_show(
        pairwise_task(entries, names, options.limit),
        options,
        show=lambda summary: _show(summary, names, [entry.name for entry in entries]),
        settings={letter: entry.name for letter, entry in zip(LETTERS, entries, strict=False)},
    )


def _show(summary: Mapping[str, Any], criteria: Sequence[str], runs: Sequence[str]) -> None:
    """Print each run's share of wins by criterion, the judge's bias, failures and costs."""
    letters = LETTERS[: len(runs)]
    for letter, run in zip(letters, runs, strict=True):
        console().print(f"{letter}: {run}", markup=False)
    metrics, corpus = summary["metrics"], summary["corpus"]
    rate_columns = ["A, ties half", "p"] if len(runs) == 2 else []
    columns = [*letters, "tie", *rate_columns, "flips", "first", "n", "failed"]
    rows: list[list[str]] = []
    for name in criteria:
        if f"{name}/tie" not in metrics:
            rows.append([name, *["–"] * (len(columns) - 2), "0", str(summary["done"])])
            continue
        shares: list[str] = []
        for run in (*letters, "tie"):
            p = corpus.get(f"{name}/p {run}")  # with more than two runs
            share = f"{metrics[f'{name}/{run}']['mean']:.1%}"
            shares.append(share if p is None else f"{share} (p {p:.4f})")
        rate = [_rate(corpus, name), _format(corpus, f"{name}/p", ".4f")] if rate_columns else []
        bias = [_format(corpus, f"{name}/{kind}", ".1%") for kind in ("flips", "first")]
        counts = (str(metrics[f"{name}/tie"][kind]) for kind in ("n", "failed"))
        rows.append([name, *shares, *rate, *bias, *counts])
    show_table(["criterion", *columns], rows)
    show_rest(summary, [value for value in corpus.values() if isinstance(value, str)])


def _rate(corpus: Mapping[str, Any], name: str) -> str:
    if f"{name}/rate" not in corpus:
        return "–"
    mean, low, high = (corpus[f"{name}/{key}"] for key in ("rate", "low", "high"))
    return f"{mean:.1%} [{low:.1%}, {high:.1%}]"


def _format(corpus: Mapping[str, Any], name: str, spec: str) -> str:
    return format(corpus[name], spec) if name in corpus else "–"
