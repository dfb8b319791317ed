"""What the commands that ask histories with known answers share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from theanine.cli.options import show_json
from theanine.cli.rendering import console, show_table
from theanine.cli.text import pluralize
from theanine.errors import BadInput
from theanine.methods.registry import DEFAULT as DEFAULT
from theanine.types import Transcript
from theanine_bench.datasets.asked import read_asked
from theanine_bench.tasks.asked import Judged, Measure, ask_baselines, ask_histories

AskedArgument = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="A file of histories with questions, or a folder of them."),
]
MethodOption = Annotated[
    str, typer.Option("--method", "-m", metavar="NAME", help="The method, with its own settings.")
]
BaselinesOption = Annotated[
    bool,
    typer.Option(help="Print what BM25, the vectors and the newest turns show, each alone."),
]
PLAIN_LIMIT = 3
"""Turns that a baseline shows."""
Columns = Mapping[str, Measure]
"""What is measured of each answer, by the column's name."""
_Group = Callable[[Judged], str]


def collect(
    data: Path,
    method: str,
    settings: Mapping[str, Mapping[str, Any]],
    keep: Callable[[Judged], bool],
    noise: Sequence[Transcript] = (),
    *,
    embedder: str = "local",
    baselines: bool = False,
) -> list[Judged]:
    """Return what is recalled for the questions that are kept. Raises BadInput for none.

    With ``baselines``, what plain search shows as well, as further settings.
    """

    async def ask() -> list[Judged]:
        histories = read_asked(data)
        asked = ask_histories(histories, method, settings, noise, embedder=embedder)
        judged = [each async for each in asked if keep(each)]
        if baselines and judged:
            plain = ask_baselines(histories, PLAIN_LIMIT, noise, embedder=embedder)
            judged += [each async for each in plain if keep(each)]
        return judged

    judged = anyio.run(ask)
    if not judged:
        raise BadInput("it has no question of this kind", str(data))
    return judged


def show(
    title: str,
    judged: Sequence[Judged],
    columns: Columns,
    *,
    by: _Group,
    json: bool = False,
    total: bool = True,
) -> None:
    """Print the means of each column's measure, in all and by group; or all of it as JSON.

    Without ``total`` no row is printed for all groups together.
    """
    groups: dict[str, list[Judged]] = {}
    for each in judged:
        groups.setdefault(by(each), []).append(each)
    rows = {"all": [*judged], **groups} if total and len(groups) > 1 else groups
    if json:
        show_json(
            {
                name: {"n": len(some)}
                | {
                    column: interval.mean
                    for column, measure in columns.items()
                    if (interval := measure.mean(some))
                }
                for name, some in rows.items()
            }
        )
        return
    console().print(f"\n{title}, {pluralize(len(judged), 'questions')}", style="bold", markup=False)
    show_table(
        ["", "n", *columns],
        [
            [name, len(some), *(measure.mean(some) or "–" for measure in columns.values())]
            for name, some in rows.items()
        ],
    )


def show_words(data: Path, method: str, *, embedder: str, json: bool) -> None:
    """Print whether each recall has the words that it must have, and none that it must not.

    Beside it the same of those that must be empty, if there are any.
    """
    judged = collect(
        data, method, {"default": {}}, lambda each: each.question.asks == "words", embedder=embedder
    )
    columns: Columns = {
        "right": Measure(value=lambda each: each.is_right, binary=True),
        "tokens": Measure(value=lambda each: each.tokens),
    }
    show("Questions", judged, columns, by=lambda each: each.question.kind, json=json)
    empty = [each for each in judged if each.question.is_empty]
    if empty and not json:
        show("Those to which nothing is right", empty, columns, by=lambda _: "all", json=False)
