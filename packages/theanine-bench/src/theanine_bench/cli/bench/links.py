"""Measure the links between memories, drawn locally or by a language model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from theanine.cli.options import (
    BaseUrlOption,
    EmbedderOption,
    JsonOption,
    ModelOption,
    ModelSettingsOption,
    TimeoutOption,
    show_json,
)
from theanine.cli.rendering import console
from theanine.errors import SettingsError
from theanine_bench.cli.execution import (
    corpus_lines,
    execute,
    exit_unless_complete,
    kept_or_temporary,
    show_rest,
)
from theanine_bench.cli.run_options import (
    CostOption,
    TemporaryOutOption,
    parse_model_settings,
    run_command,
)
from theanine_bench.config import RunConfig
from theanine_bench.runs.runner import RunLimits
from theanine_bench.tasks.links import read_links

FITTED = (
    "The local linker was fitted on the bundled labels, on pairs_dev.jsonl and on "
    "corpus/diaries_fit.jsonl: its figures on these are too good."
)


@run_command
def links(
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DATA.jsonl…",
            help="Files of labeled pairs, or of diaries with what readers marked.",
        ),
    ] = None,
    sets: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Your copies of LoCoMo, MSC and CausalEval, for the bundled labels, whole "
            "histories and graphs.",
        ),
    ] = None,
    model: ModelOption = "local",
    base_url: BaseUrlOption = None,
    model_settings: ModelSettingsOption = None,
    timeout: TimeoutOption = None,
    embedder: EmbedderOption = "local",
    out: TemporaryOutOption = None,
    max_cost: CostOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the links between memories, drawn locally or by a language model.

    Of labeled pairs, each judged alone: precision and recall of a link, and of a relation other
    than SameTopic; links as cause and effect between statements that say the same; without a model,
    also precision of memory-update's decisions, on two halves of the histories. Of diaries, such as
    corpus/diaries_report.jsonl: how many links a reader would draw, too, by relation, and how many
    of the readers' relations are linked. Of the sets in
    FOLDER: whether a turn's candidates include the turn it follows from, the gold edges between
    sessions that are linked, links per memory, and the share of memories in the largest component.
    The bundled labels are used only without files of pairs; the local linker was fitted on them.

    \b
    theanine bench links pairs.jsonl
    theanine bench links corpus/diaries_report.jsonl
    theanine bench links --sets data
    theanine bench links pairs.jsonl --sets data --model openai:gpt-4o-mini --out runs/links
    """
    if not data and sets is None:
        raise SettingsError("nothing to measure: name files of labeled pairs, or --sets FOLDER")
    task = read_links(data or [], sets)
    config = RunConfig(
        model=model,
        base_url=base_url,
        model_settings=parse_model_settings(model_settings, "--model-set"),
        embedder=embedder,
    )
    asks_model = model != "local" or base_url is not None
    limits = RunLimits(concurrency=8 if asks_model else 1, max_cost=max_cost, timeout=timeout)
    with kept_or_temporary(out, keep=asks_model) as folder:
        _, summary = execute(task, config, folder, limits)
    if as_json:
        show_json(summary)
    else:
        show_rest(summary, corpus_lines(summary))
        if not asks_model:
            console().print(FITTED, style="dim", markup=False)
    exit_unless_complete(summary)
