"""Measure how far a judge agrees with people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from theanine.cli.rendering import show_table
from theanine_bench.cli.execution import run_and_show, show_rest
from theanine_bench.cli.run_options import JudgingOptions, run_command
from theanine_bench.tasks.judge import agreement_task

_CELL = re.compile(r"(?P<part>.+): (?P<people>.+) → (?P<judge>.+)")


@run_command
def judge(
    labeled: Annotated[
        Path,
        typer.Argument(
            metavar="LABELED", help="JSON Lines: results with a `label` that a person gave."
        ),
    ],
    *,
    as_: Annotated[
        str,
        typer.Option("--as", metavar="NAME", help="Judge, such as right, or pairwise criterion."),
    ],
    options: JudgingOptions,
) -> None:
    """Measure how far a judge agrees with people.

    Prints agreement, Cohen's kappa and the confusion matrix. A line is a result of a run with a
    label, or {"question", "answer", "reference", "label"}; for a pairwise criterion "answers" has
    two and the label is A, B or tie. Scales of more than ten numbers are compared in five bands.

    \b
    theanine bench judge labeled.jsonl --judge openai:gpt-4o --as right
    theanine bench judge pairs.jsonl --judge openai:gpt-4o --as memorability
    """
    task = agreement_task(labeled, as_, options.limit)
    run_and_show(task, options, show=_show, settings={"as": as_})


def _show(summary: Mapping[str, Any]) -> None:
    corpus: Mapping[str, float] = summary["corpus"]
    parts = [name.removesuffix("/agreement") for name in corpus if name.endswith("/agreement")]
    counts: dict[str, dict[tuple[str, str], int]] = {part: {} for part in parts}
    for name, count in corpus.items():
        if match := _CELL.fullmatch(name):
            counts[match["part"]][match["people"], match["judge"]] = int(count)
    judged = max((sum(cells.values()) for cells in counts.values()), default=0)
    rows: list[list[object]] = []
    for part in parts:
        agreement, kappa = f"{corpus[f'{part}/agreement']:.3f}", corpus.get(f"{part}/kappa")
        shown_kappa = "–" if kappa is None else f"{kappa:.3f}"
        n = sum(counts[part].values())
        rows.append([part, agreement, shown_kappa, n, summary["done"] - judged])
    for name, mean in summary["metrics"].items():
        if not mean["n"]:
            rows.append([name, "–", "–", 0, mean["failed"]])
    show_table(["judge", "agreement", "kappa", "n", "failed"], rows)
    for part, cells in counts.items():
        labels = list(dict.fromkeys([*(pair[0] for pair in cells), *(pair[1] for pair in cells)]))
        show_table(
            [f"{part}: people ↓, judge →", *labels],
            ([people, *(cells.get((people, judge), 0) for judge in labels)] for people in labels),
        )
    show_rest(summary)
