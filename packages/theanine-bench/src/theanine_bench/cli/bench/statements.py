"""Measure what comes to mind when the user tells something and asks nothing."""

from __future__ import annotations

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
from theanine_bench.tasks.asked import Measure

_SETTINGS = {"default": {}, "limit 5": {"limit": 5}}


@run_command
def statements(
    data: AskedArgument,
    method: MethodOption = DEFAULT,
    *,
    embedder: EmbedderOption = "local",
    baselines: BaselinesOption = True,
    as_json: JsonOption = False,
) -> None:
    """Measure what comes to mind when the user tells something and asks nothing.

    Recall: the share of the earlier turns of the same matter that is shown.

    \b
    theanine bench statements diaries/
    """
    judged = collect(
        data,
        method,
        _SETTINGS,
        lambda each: each.question.asks == "tells",
        embedder=embedder,
        baselines=baselines,
    )
    columns: Columns = {
        "something": Measure(value=lambda each: not each.is_empty, binary=True),
        "recall": Measure(value=lambda each: each.needed),
        "tokens": Measure(value=lambda each: each.tokens),
    }
    show("Statements", judged, columns, by=lambda e: e.setting, json=as_json, total=False)
