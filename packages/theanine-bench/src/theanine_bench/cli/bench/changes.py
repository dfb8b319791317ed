"""Measure whether the state that holds is recalled first, where it changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from theanine.cli.options import EmbedderOption, JsonOption
from theanine_bench.cli.asked import (
    DEFAULT,
    AskedArgument,
    BaselinesOption,
    Columns,
    MethodOption,
    collect,
    show,
)
from theanine_bench.cli.run_options import run_command
from theanine_bench.datasets.qa import read_qa
from theanine_bench.tasks.asked import SETTINGS, Judged, Measure


@run_command
def changes(
    data: AskedArgument,
    method: MethodOption = DEFAULT,
    within: Annotated[
        Path | None,
        typer.Option(metavar="DATA", help="Log the conversations of this set into each memory."),
    ] = None,
    *,
    embedder: EmbedderOption = "local",
    baselines: BaselinesOption = True,
    as_json: JsonOption = False,
) -> None:
    """Measure whether the state that holds is recalled first, where it changed.

    Each question is asked with a limit of one and of three parts, within 150 tokens, by default,
    and with a least relevance of .3. Outdated: an outdated state is shown without the right one.

    \b
    theanine bench changes changes.jsonl
    theanine bench changes changes.jsonl --within locomo10.json --method utterance
    """
    noise = (
        [transcript for group in read_qa(within) for stage in group.stages
         for history in stage.histories for transcript in history.transcripts]
        if within
        else []
    )  # fmt: skip
    judged = collect(
        data, method, SETTINGS, _has_state, noise, embedder=embedder, baselines=baselines
    )
    columns: Columns = {
        "shown": Measure(value=lambda each: each.shown, binary=True),
        "first": Measure(value=lambda each: each.first, binary=True),
        "outdated": Measure(value=lambda each: each.outdated, binary=True),
        "tokens": Measure(value=lambda each: each.tokens),
    }
    show("States", judged, columns, by=lambda e: e.setting, json=as_json, total=False)
    if not as_json:
        default = [each for each in judged if each.setting == "default"]
        show("By kind, default", default, columns, by=lambda e: e.question.kind)


def _has_state(judged: Judged) -> bool:
    return bool(judged.question.current) and judged.question.asks in ("now", "as_of", "when")
