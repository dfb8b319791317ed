"""`theanine bench segmentation`: how well the topics of dialogues are told apart."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from theanine.cli.options import BaseUrlOption, JsonOption, ModelOption, show_json
from theanine.cli.output import check_writable, progress, write_text
from theanine.cli.rendering import console, pluralize, show_table
from theanine_bench.cli.runs.options import again

if TYPE_CHECKING:
    from theanine_bench.datasets.segmentation import SegmentedDialogue
    from theanine_bench.tasks.model_segmentation import ModelRun
    from theanine_bench.tasks.segmentation import SegmentationRun

LLM = "llm"
DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="A set's name, such as dialseg711, or dialogues with segments."
    ),
]
SegmenterOption = Annotated[
    str, typer.Option(metavar="NAME", help="local, dips, text-tiling, every:N or llm.")
]
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
HtmlOption = Annotated[
    Path | None,
    typer.Option(
        "--html", metavar="FILE", help="Write one self-contained page, beside published figures."
    ),
]


def segmentation(
    context: typer.Context,
    data: DataArgument,
    segmenter: SegmenterOption = "local",
    model: ModelOption = "local",
    base_url: BaseUrlOption = None,
    guidance: GuidanceOption = None,
    reflect: ReflectOption = None,
    journal: JournalOption = None,
    html: HtmlOption = None,
    as_json: JsonOption = False,
) -> None:
    """How well the topics of dialogues are told apart, locally or by a language model.

    Pk and WindowDiff by dialogue (lower is better), F1 of boundaries, and SeCom's score, with 95 %
    bootstrap intervals over dialogues. Where llm answers unusably the local segmenter takes its
    place, and that is counted.

    \b
    theanine bench segmentation dialseg711 --html topics.html
    theanine bench segmentation tiage.json --segmenter text-tiling
    theanine bench segmentation train.json --segmenter llm --model openai:gpt-4o --reflect g.json
    theanine bench segmentation test.json --segmenter llm --model openai:gpt-4o --guidance g.json
    """
    from theanine_bench.datasets.registry import resolve_data_path
    from theanine_bench.tasks.segmentation import bench_segmentation
    from theanine_bench.tasks.segmentation import segmenter as segmenter_named

    _check(segmenter, guidance, reflect, journal)
    for file in filter(None, (html, reflect)):
        check_writable(file)
    path = resolve_data_path(data)
    dialogues = _read(path)
    asked, learned = None, 0
    if segmenter == LLM:
        asked, learned = anyio.run(
            _with_model, dialogues, model, base_url, guidance, reflect, journal
        )
    run = asked.run if asked else bench_segmentation(dialogues, segmenter_named(segmenter))
    _show(run, segmenter, as_json, asked)
    if reflect and not as_json:
        said = f"{learned} rules in {reflect}" if learned else "no error to learn from"
        console().print(said, markup=False)
    if html is not None:
        about = {"Segmenter": segmenter, "Guidance": str(guidance or ""), **_about(path, asked)}
        _write_page(html, run, dialogues, data.name, about, again(context))


def _check(
    segmenter: str, guidance: Path | None, reflect: Path | None, journal: Path | None
) -> None:
    from theanine.errors import SettingsError

    if segmenter != LLM and (guidance or reflect or journal):
        raise SettingsError("--guidance, --reflect and --journal go with --segmenter llm")
    if guidance and reflect:
        raise SettingsError("--reflect learns from runs without guidance: leave --guidance out")


def _read(path: Path) -> list[SegmentedDialogue]:
    from theanine_bench.datasets.segmentation import read_segmented

    dropped = Counter[str]()
    dialogues = read_segmented(path, dropped)
    for reason, count in dropped.items():
        print(f"dropped: {pluralize(count, reason)}", file=sys.stderr)
    return dialogues


def _about(path: Path, asked: ModelRun | None) -> dict[str, str]:
    import theanine
    from theanine_bench.files import hash_files

    known = {} if asked is None else {"model": asked.model, **asked.counts}
    return {
        **{name.replace("_", " ").capitalize(): str(value) for name, value in known.items()},
        "Data, SHA-256": hash_files(path)[:16],
        "Seed of the intervals": "0",
        "theanine": theanine.__version__,
    }


def _write_page(
    file: Path,
    run: SegmentationRun,
    dialogues: Sequence[SegmentedDialogue],
    title: str,
    about: Mapping[str, str],
    command: str,
) -> None:
    from theanine_bench.report import segmentation_page

    page = segmentation_page(run, dialogues, title=title, about=about, command=command)
    write_text(file, page)
    print(f"wrote {file}", file=sys.stderr)


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
    from theanine.llm.open import open_chat
    from theanine.methods.secom.guidance import read_guidance, write_guidance
    from theanine_bench.tasks.model_segmentation import asking, bench_with_model, learn

    chat = open_chat(model, base_url=base_url)
    if chat is None:
        raise SettingsError("the segmenter llm needs a language model: name one with --model")
    known = read_guidance(guidance) if guidance else None
    async with asking(chat, journal) as caller:
        with progress(len(dialogues), LLM) as step:
            found = await bench_with_model(dialogues, caller, guidance=known, progress=step)
        learned = await learn(dialogues, found.run, caller) if reflect else None
    if reflect and learned:
        write_guidance(learned, reflect)
    return found, len(learned.rules) if learned else 0


def _show(
    run: SegmentationRun, segmenter: str, as_json: bool, asked: ModelRun | None = None
) -> None:
    counts = {} if asked is None else asked.counts
    if as_json:
        found = {name: asdict(value) for name, value in run.measures.items()}
        show_json({**found, "turns_per_second": run.turns_per_second, **counts})
        return
    called = asked.model if asked else segmenter
    show_table(["measure", f"{called}, {pluralize(run.n, 'dialogues')}"], run.measures.items())
    console().print(f"{run.turns_per_second:,.0f} turns a second")
    if asked:
        console().print(
            f"{pluralize(asked.fallbacks, 'fallbacks to the local segmenter')}; "
            f"{pluralize(asked.usage.calls, 'calls')}, {asked.usage.replayed} replayed; "
            f"{pluralize(asked.usage.input_tokens, 'tokens')} in, "
            f"{asked.usage.output_tokens:,} out"
        )
