"""Measure how well the topics of dialogues are segmented, locally or by a language model."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import anyio
import typer

from theanine.cli.options import (
    BaseUrlOption,
    JsonOption,
    ModelOption,
    ModelSettingsOption,
    TimeoutOption,
    show_json,
)
from theanine.cli.output import check_writable, write_text
from theanine.cli.rendering import console
from theanine.cli.text import pluralize
from theanine.errors import SettingsError
from theanine.llm.limits import Limits
from theanine_bench.cli.execution import (
    execute,
    exit_unless_complete,
    kept_or_temporary,
    show_summary,
)
from theanine_bench.cli.prompts import read_prompts
from theanine_bench.cli.run_options import (
    DataArgument,
    HtmlOption,
    PromptsOption,
    TemporaryOutOption,
    parse_model_settings,
    run_command,
)
from theanine_bench.config import RunConfig
from theanine_bench.datasets.registry import resolve_data_path
from theanine_bench.datasets.segmentation import dataset_name, read_segmented
from theanine_bench.files import hash_files
from theanine_bench.report import segmentation_page
from theanine_bench.report.segmentation import turns_per_second
from theanine_bench.runs.folder import RunFolder
from theanine_bench.runs.runner import RunLimits
from theanine_bench.runs.saved_run import SavedRun, read_run
from theanine_bench.samples import spread
from theanine_bench.tasks.segmentation import LLM, learn_guidance, segmentation_task
from theanine_methods.secom.guidance import read_guidance, write_guidance


@run_command
def segmentation(
    data: DataArgument,
    segmenter: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="local, dips, text-tiling, every:N, trained:FOLDER or llm."
        ),
    ] = "local",
    model: ModelOption = "local",
    base_url: BaseUrlOption = None,
    model_settings: ModelSettingsOption = None,
    prompts: PromptsOption = None,
    timeout: TimeoutOption = None,
    guidance: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Guidance for llm, learned by an earlier run."),
    ] = None,
    reflect: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Learn guidance from llm's worst errors; write it there."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Use at most N dialogues, evenly spaced.")
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep llm's calls there instead of in the run's folder: a repeated run costs "
            "nothing.",
        ),
    ] = None,
    out: TemporaryOutOption = None,
    html: HtmlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how well the topics of dialogues are segmented, locally or by a language model.

    Pk and WindowDiff (lower is better), F1 of boundaries and SeCom's score as SuperDialSeg's
    program computes them, by which SeCom's table 4 is scored; with :gaps, by definition. All have
    95 % bootstrap intervals over dialogues. If llm's reply is unusable, the local segmenter is used
    instead; such fallbacks are counted.

    \b
    theanine bench segmentation dialseg711 --html topics.html
    theanine bench segmentation tiage.json --segmenter text-tiling
    theanine bench segmentation tiage-train --segmenter llm --model openai:gpt-4o --reflect g.json
    theanine bench segmentation tiage --segmenter llm --model openai:gpt-4o --guidance g.json
    """
    if segmenter != LLM and any((guidance, reflect, journal, model_settings, prompts)):
        raise SettingsError(
            "--guidance, --reflect, --journal, --model-set and --prompts go with --segmenter llm"
        )
    if guidance and reflect:
        raise SettingsError("--reflect learns from runs without guidance: leave --guidance out")
    for file in filter(None, (html, reflect)):
        check_writable(file)
    path, dropped = resolve_data_path(data), Counter[str]()
    task = segmentation_task(
        spread(read_segmented(path, dropped), limit),
        hash_files(path),
        guidance=read_guidance(guidance) if guidance else None,
        dropped=dropped,
        dataset=dataset_name(data, path),
    )
    config = RunConfig(
        method=segmenter,
        settings={"guidance": hash_files(guidance)[:12]} if guidance else {},
        model=model if segmenter == LLM else "local",
        base_url=base_url if segmenter == LLM else None,
        model_settings=parse_model_settings(model_settings, "--model-set"),
        prompts=read_prompts(prompts),
    )
    learned = None
    with kept_or_temporary(out, keep=segmenter == LLM and journal is None) as folder:
        if folder is not None and journal is not None:
            folder = RunFolder(folder.path, journal)
        limits = RunLimits(concurrency=8 if segmenter == LLM else 1, timeout=timeout)
        folder, summary = execute(task, config, folder, limits)
        run = anyio.run(read_run, folder.path, "" if out else str(data))
        if reflect:
            results = list(run.results.values())
            patient = Limits().with_timeout(timeout)
            learned = anyio.run(learn_guidance, results, folder, config, patient)
    if learned and reflect:
        write_guidance(learned, reflect)
    if html is not None:
        write_text(html, segmentation_page(run))
    if as_json:
        show_json(run.summary)
    else:
        _show(run)
        if reflect:
            rules = f"{pluralize(len(learned.rules), 'rules')} in {reflect}" if learned else ""
            console().print(rules or "no error to learn from", markup=False)
    exit_unless_complete(summary)


def _show(run: SavedRun) -> None:
    facts = run.summary.get("facts", {})
    show_summary(run.summary)
    console().print(f"{turns_per_second(run):,.0f} turns per second")
    if "fallbacks" in facts:
        console().print(
            f"{pluralize(facts['fallbacks'], 'fallbacks')} to the local segmenter; "
            f"{pluralize(facts['replayed'], 'replies')} from the journal"
        )
