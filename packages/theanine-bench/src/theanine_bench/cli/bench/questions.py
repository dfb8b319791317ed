"""Measure how well the turns that answer a question are found, by the question's form."""

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
from theanine_bench.tasks.asked import Judged, Measure, precision

_SETTINGS = {"limit 1": {"limit": 1}, "limit 5": {"limit": 5}, "default": {}}


@run_command
def questions(
    data: AskedArgument,
    method: MethodOption = DEFAULT,
    *,
    embedder: EmbedderOption = "local",
    baselines: BaselinesOption = True,
    as_json: JsonOption = False,
) -> None:
    """Measure how well the turns that answer a question are found, by the question's form.

    First: the most relevant part has a right turn. Recall: the share of the right turns that is
    shown. Precision: the share of the returned turns that is right.

    \b
    theanine bench questions corpus/diaries_report.jsonl
    """
    judged = collect(data, method, _SETTINGS, _has_answer, embedder=embedder, baselines=baselines)
    columns: Columns = {
        "first": Measure(value=lambda each: each.first, binary=True),
        "recall": Measure(value=lambda each: each.needed),
        "precision": Measure(value=precision),
        "tokens": Measure(value=lambda each: each.tokens),
    }
    show("Questions", judged, columns, by=lambda e: e.setting, json=as_json, total=False)
    if not as_json:
        default = [each for each in judged if each.setting == "default"]
        show("By form, default", default, columns, by=lambda e: e.question.kind)
        if len({each.history.language for each in default}) > 1:
            show("By language, default", default, columns, by=lambda e: e.history.language)


def _has_answer(judged: Judged) -> bool:
    return bool(judged.question.needed) and judged.question.asks == "now"
