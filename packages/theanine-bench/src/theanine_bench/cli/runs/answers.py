"""`theanine bench qa` and `theanine bench responses`: what a memory's answers are worth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theanine_bench.cli.runs.options import RunOptions, with_run_options

if TYPE_CHECKING:
    from theanine_bench.samples import Group

MeasuresOption = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        metavar="NAME",
        help="A measure or a judge, such as f1 or gpt4score; several are given one by one.",
    ),
]
AskedOption = Annotated[
    Path | None,
    typer.Option(
        "--questions",
        metavar="FILE",
        help="What is asked of any histories: one a line, or JSON; else the set's own questions.",
    ),
]
HistoriesOption = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Only so many histories or episodes, evenly spread over the set."
    ),
]
AnswersOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A corrected answer key: its answers count, and what it rejects is left out.",
    ),
]


@with_run_options
def qa(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="A set's name, such as locomo (see `bench data`), or its path."
        ),
    ],
    *,
    measure: MeasuresOption = None,
    questions: AskedOption = None,
    answers: AnswersOption = None,
    histories: HistoriesOption = None,
    merge: Annotated[
        int, typer.Option(min=1, metavar="N", help="Histories that share one memory.")
    ] = 1,
    options: RunOptions,
) -> None:
    """Answer a data set's questions about its histories, and measure the answers.

    Each history is remembered by the method, then asked. Means have 95 % bootstrap intervals; what
    failed is counted beside them. The run has a folder; the same command goes on with it. To have
    one run's score by a corrected key as well as by the set's own answers, see `bench rescore`.

    \b
    theanine bench qa locomo --model openai:gpt-4o-mini --judge openai:gpt-4o
    theanine bench qa locomo10.json --method secom --budget 2000 --limit 100
    theanine bench qa talks.jsonl --questions questions.json --model openai:gpt-4o-mini
    theanine bench qa locomo10.json --replay --out runs/qa-theanine-1a2b3c4d
    """
    from theanine_bench.cli.runs.common import perform_and_show
    from theanine_bench.datasets.answer_key import apply_answer_key, read_answer_key
    from theanine_bench.datasets.qa import read_qa
    from theanine_bench.datasets.registry import resolve_data_path
    from theanine_bench.samples import limit_samples, merge_groups
    from theanine_bench.tasks.answers import answer_task

    data = resolve_data_path(data)
    groups = read_qa(data, questions)
    if answers is not None:
        groups = apply_answer_key(groups, read_answer_key(answers))
    groups = limit_samples(_spread(groups, histories), options.limit)
    groups = merge_groups(groups, merge) if merge > 1 else groups
    beside = [file for file in (questions, answers) if file is not None]
    perform_and_show(answer_task("qa", data, groups, measure, options.judge, beside), options)


@with_run_options
def responses(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="A set's name, such as msc (see `bench data`), or any history."
        ),
    ],
    *,
    sessions: Annotated[
        str, typer.Option(metavar="FIRST-LAST", help="The sessions whose turns are answered.")
    ] = "3-5",
    measure: MeasuresOption = None,
    histories: HistoriesOption = None,
    options: RunOptions,
) -> None:
    """Say the turns of later sessions in the speaker's place, and compare with what was said.

    Before each session all earlier ones are remembered, and no later one is known.

    \b
    theanine bench responses msc --model openai:gpt-4o-mini --histories 50
    theanine bench responses cc.json --method memory-retrieval --limit 200
    """
    from theanine_bench.cli.runs.common import perform_and_show
    from theanine_bench.datasets.registry import resolve_data_path
    from theanine_bench.datasets.responses import read_responses
    from theanine_bench.samples import limit_samples
    from theanine_bench.tasks.answers import answer_task

    data = resolve_data_path(data)
    groups = limit_samples(
        _spread(read_responses(data, _range(sessions)), histories), options.limit
    )
    perform_and_show(answer_task("responses", data, groups, measure, options.judge), options)


def _spread(groups: list[Group], histories: int | None) -> list[Group]:
    """So many of the groups, evenly spread; all of them with None."""
    if histories is None or histories >= len(groups):
        return groups
    return [groups[place * len(groups) // histories] for place in range(histories)]


def _range(text: str) -> range:
    from theanine.errors import SettingsError

    first, _, last = text.partition("-")
    try:
        found = range(int(first), int(last or first) + 1)
    except ValueError:
        found = range(0)
    if not found or found[0] < 1:
        raise SettingsError(f"--sessions {text}: write it as 3-5, or as one number")
    return found
