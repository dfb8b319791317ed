"""Measure whether nothing is recalled where the answer was never said."""

from __future__ import annotations

from theanine.cli.options import EmbedderOption, JsonOption
from theanine_bench.cli.asked import (
    DEFAULT,
    AskedArgument,
    Columns,
    MethodOption,
    collect,
    show,
)
from theanine_bench.cli.run_options import run_command
from theanine_bench.tasks.asked import Judged, Measure

_SETTINGS = {"default": {}, "relevance .5": {"min_relevance": 0.5}}


@run_command
def never(
    data: AskedArgument,
    method: MethodOption = DEFAULT,
    *,
    embedder: EmbedderOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Measure whether nothing is recalled where the answer was never said.

    Beside it: how often nothing is recalled although it was. `bench relevance` asks questions of
    other memories.

    \b
    theanine bench never changes.jsonl
    """
    judged = collect(
        data, method, _SETTINGS, lambda each: each.question.asks != "tells", embedder=embedder
    )

    def kind(each: Judged) -> str:
        said = "never said" if each.question.is_empty else "was said"
        return f"{said}, {each.setting}"

    columns: Columns = {
        "empty": Measure(value=lambda each: each.is_empty, binary=True),
        "tokens": Measure(value=lambda each: each.tokens),
    }
    show("Questions", judged, columns, by=kind, json=as_json, total=False)
    if not as_json:
        never = [each for each in judged if each.question.is_empty and each.setting == "default"]
        show("Never said, default", never, columns, by=lambda e: e.question.kind)
