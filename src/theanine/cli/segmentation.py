"""`theanine bench segmentation`: how well the topics of dialogues are told apart."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from theanine.cli.common import BaseUrlOption, JsonOption, ModelOption, show_json
from theanine.cli.show import console, show_table

if TYPE_CHECKING:
    from theanine.evaluation.datasets.segmentation import SegmentedDialogue
    from theanine.evaluation.model_segmentation import ModelRun
    from theanine.evaluation.segmentation import SegmentationRun

LLM = "llm"
GuidanceOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Guidance for llm, which an earlier run has learned."),
]
ReflectOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Learn guidance from llm's worst errors, and write it there."
    ),
]
JournalOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Keep llm's calls there: a repeated run costs nothing."),
]


def segmentation(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="A set's name, such as dialseg711, or dialogues with segments."
        ),
    ],
    segmenter: Annotated[
        str, typer.Option(metavar="NAME", help="local, dips, text-tiling, every:N or llm.")
    ] = "local",
    model: ModelOption = "local",
    base_url: BaseUrlOption = None,
    guidance: GuidanceOption = None,
    reflect: ReflectOption = None,
    journal: JournalOption = None,
    as_json: JsonOption = False,
) -> None:
    """How well the topics of dialogues are told apart, locally or by a language model.

    Pk and WindowDiff by dialogue (lower is better), F1 of boundaries, and SeCom's score, with 95 %
    bootstrap intervals over dialogues. Where llm answers unusably the local segmenter takes its
    place, and that is counted.

    \b
    theanine bench segmentation dialseg711
    theanine bench segmentation tiage.json --segmenter text-tiling
    theanine bench segmentation train.json --segmenter llm --model openai:gpt-4o --reflect g.json
    theanine bench segmentation test.json --segmenter llm --model openai:gpt-4o --guidance g.json
    """
    from theanine.errors import SettingsError
    from theanine.evaluation.datasets.registry import located
    from theanine.evaluation.datasets.segmentation import read_segmented
    from theanine.evaluation.segmentation import bench_segmentation
    from theanine.evaluation.segmentation import segmenter as segmenter_named

    if segmenter != LLM and (guidance or reflect or journal):
        raise SettingsError("--guidance, --reflect and --journal go with --segmenter llm")
    if guidance and reflect:
        raise SettingsError("--reflect learns from runs without guidance: leave --guidance out")
    dropped = Counter[str]()
    dialogues = read_segmented(located(data), dropped)
    for reason, count in dropped.items():
        print(f"dropped: {count} {reason}", file=sys.stderr)
    if segmenter != LLM:
        _show(bench_segmentation(dialogues, segmenter_named(segmenter)), segmenter, as_json)
        return
    found, learned = anyio.run(_with_model, dialogues, model, base_url, guidance, reflect, journal)
    _show(found.run, found.model, as_json, found)
    if reflect and not as_json:
        said = f"{learned} rules in {reflect}" if learned else "no error to learn from"
        console().print(said, markup=False)


async def _with_model(
    dialogues: Sequence[SegmentedDialogue],
    model: str,
    base_url: str | None,
    guidance: Path | None,
    reflect: Path | None,
    journal: Path | None,
) -> tuple[ModelRun, int]:
    """The run, and how many rules were learned of it."""
    from theanine.errors import SettingsError
    from theanine.evaluation.model_segmentation import asking, bench_with_model, learn
    from theanine.methods.secom.guidance import read_guidance, write_guidance
    from theanine.models.open import open_chat

    chat = open_chat(model, base_url=base_url)
    if chat is None:
        raise SettingsError("the segmenter llm needs a language model: name one with --model")
    known = read_guidance(guidance) if guidance else None
    async with asking(chat, journal) as caller:
        with typer.progressbar(length=len(dialogues), label=LLM, file=sys.stderr) as bar:
            found = await bench_with_model(
                dialogues, caller, guidance=known, progress=lambda: bar.update(1)
            )
        learned = await learn(dialogues, found.run, caller) if reflect else None
    if reflect and learned:
        write_guidance(learned, reflect)
    return found, len(learned.rules) if learned else 0


def _show(
    run: SegmentationRun, segmenter: str, as_json: bool, asked: ModelRun | None = None
) -> None:
    measures = {"Pk": run.pk, "WD": run.wd, "F1": run.f1, "score": run.score}
    counts = {} if asked is None else asked.counts
    if as_json:
        found = {name: asdict(value) for name, value in measures.items()}
        show_json({**found, "turns_per_second": run.turns_per_second, **counts})
        return
    show_table(["measure", f"{segmenter}, {run.n} dialogues"], measures.items())
    console().print(f"{run.turns_per_second:,.0f} turns a second")
    if asked:
        console().print(
            f"{asked.fallbacks} fallbacks to the local segmenter; {asked.calls} calls, "
            f"{asked.replayed} replayed; {asked.input_tokens:,} tokens in, "
            f"{asked.output_tokens:,} out"
        )
