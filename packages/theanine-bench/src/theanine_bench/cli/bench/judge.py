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
    labelled: Annotated[
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
    theanine bench judge labelled.jsonl --judge openai:gpt-4o --as right
    theanine bench judge pairs.jsonl --judge openai:gpt-4o --as memorability
    """
    task = agreement_task(labelled, as_, options.limit)
    run_and_show(task, options, show=_show, settings={"as": as_})


def _show(summary: Mapping[str, Any]) -> None:
    corpus: Mapping[str, float] = summary["corpus"]
    parts = [name.removesuffix("/agreement") for name in corpus if name.endswith("/agreement")]
    cells = [(match, int(n)) for name, n in corpus.items() if (match := _CELL.fullmatch(name))]
    counted = {part: [(m, n) for m, n in cells if m["part"] == part] for part in parts}
    failed = summary["done"] - max((sum(n for _, n in c) for c in counted.values()), default=0)
    show_table(
        ["judge", "agreement", "kappa", "n", "failed"],
        [
            [
                part,
                f"{corpus[f'{part}/agreement']:.3f}",
                f"{corpus[f'{part}/kappa']:.3f}" if f"{part}/kappa" in corpus else "–",
                sum(n for _, n in counted[part]),
                failed,
            ]
            for part in parts
        ]
        + [
            [name, "–", "–", 0, one["failed"]]
            for name, one in summary["metrics"].items()
            if not one["n"]
        ],
    )
    for part in parts:
        _confusion(part, {(m["people"], m["judge"]): n for m, n in counted[part]})
    show_rest(summary)


def _confusion(part: str, counts: Mapping[tuple[str, str], int]) -> None:
    labels = list(dict.fromkeys([a for a, _ in counts] + [b for _, b in counts]))
    show_table(
        [f"{part}: people ↓, judge →", *labels],
        ([one, *(counts.get((one, other), 0) for other in labels)] for one in labels),
    )
