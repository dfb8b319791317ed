"""`theanine bench`: measure on labelled conversations."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theanine.cli.common import (
    EmbedderOption,
    JsonOption,
    RerankedOption,
    RerankerOption,
    SettingsOption,
    named,
    show_json,
)
from theanine.cli.segmentation import segmentation
from theanine.cli.show import console, show_table

if TYPE_CHECKING:
    from theanine.evaluation.retrieval import Item, Run

bench = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Measure on labelled conversations."
)


@bench.callback()
def together() -> None:
    """Measure on labelled conversations; each bench is one command."""


bench.command()(segmentation)


DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help="A set's name, such as locomo (see `bench data`), or its path."
    ),
]
UnitOption = Annotated[
    str, typer.Option(metavar="UNIT", help="turn, exchange, segment, session or memory.")
]
RetrieverOption = Annotated[str, typer.Option(metavar="NAME", help="hybrid, dense or lexical.")]
AgainstOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Items of another run: compare question by question."),
]
OutOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the items there, as JSON Lines.")
]

AblateOption = Annotated[
    bool, typer.Option("--ablate", help="Also without each part of the ranking, one row a part.")
]


@bench.command()
def retrieval(
    data: DataArgument,
    unit: UnitOption = "turn",
    retriever: RetrieverOption = "hybrid",
    embedder: EmbedderOption = "local",
    reranker: RerankerOption = None,
    reranked: RerankedOption = None,
    against: AgainstOption = None,
    out: OutOption = None,
    ablate: AblateOption = False,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """How much of the labelled evidence recall finds, with no language model.

    Conversations are imported, remembered and asked as any user's are. Means are over questions,
    with 95 % bootstrap intervals.

    \b
    theanine bench retrieval locomo --out ours.jsonl
    theanine bench retrieval locomo --retriever lexical --against ours.jsonl
    theanine bench retrieval locomo10.json --unit segment --set denoise=none
    theanine bench retrieval locomo10.json --reranker cross-encoder:models/reranker
    """
    from theanine.evaluation.datasets.evidence import read_evidence
    from theanine.evaluation.datasets.registry import located
    from theanine.evaluation.retrieval import Models, bench_retrieval
    from theanine.retrieval.rerank import TOP

    other = None if against is None else _items(against)
    labelled = read_evidence(located(data))
    measured = partial(
        bench_retrieval,
        labelled,
        unit=unit,
        retrieval=retriever,
        models=Models(embedder=embedder, reranker=reranker, reranked=reranked or TOP),
        settings=named(settings or []),
    )
    with typer.progressbar(length=len(labelled), label=unit, file=sys.stderr) as bar:
        run = measured(progress=lambda _: bar.update(1))
    if out is not None:
        _write(run.items, out)
    _show(run, as_json=as_json)
    if other is not None:
        _compare(run.items, other, against)
    if ablate:
        _ablate(run, measured)


def _show(run: Run, *, as_json: bool) -> None:
    whole = run.measures()
    if as_json:
        show_json({name: asdict(value) for name, value in whole.items()})
        return
    by = {category: run.measures(category) for category in run.categories}
    reranker = f", reranked by {run.reranker}" if run.reranker else ""
    console().print(
        f"{len(run.items)} questions, unit {run.unit}, {run.retrieval}, {run.embedder}{reranker}",
        markup=False,
    )
    show_table(
        ["measure", "all", *(f"{name} ({by[name]['MRR'].n})" for name in by)],
        ([name, whole[name], *(f"{by[c][name].mean:.3f}" for c in by)] for name in whole),
    )
    times = sorted(item.seconds * 1000 for item in run.items)
    dropped = ", ".join(f"{count} {reason}" for reason, count in run.dropped.items())
    console().print(
        f"recall p50 {times[len(times) // 2]:.1f} ms, p95 {times[int(len(times) * 0.95)]:.1f} ms; "
        f"remembered in {run.remember_seconds:.1f} s; index {run.index_bytes / 1e6:.1f} MB; "
        f"dropped: {dropped or 'nothing'}"
    )


def _write(items: Sequence[Item], file: Path) -> None:
    file.write_text("".join(f"{json.dumps(asdict(item))}\n" for item in items), "utf-8")


def _items(file: Path) -> list[Item]:
    from theanine.errors import BadInput
    from theanine.evaluation.retrieval import Item

    try:
        return [Item(**json.loads(line)) for line in file.read_text("utf-8").splitlines()]
    except (OSError, ValueError, TypeError) as error:
        raise BadInput(f"no items of a run: {error}", str(file)) from None


def _compare(ours: Sequence[Item], theirs: Sequence[Item], file: Path | None) -> None:
    from theanine.evaluation.metrics.paired import compare

    console().print(f"\nagainst {file}", markup=False)
    show_table(
        ["measure", "this run", "that run", "p", "n"],
        (
            [one.measure, f"{one.ours:.3f}", f"{one.theirs:.3f}", f"{one.p:.4f}", one.n]
            for one in compare(ours, theirs)
        ),
    )


def _ablate(whole: Run, measured: Callable[..., Run]) -> None:
    """The main measures without each part, and how likely the difference is chance."""
    from theanine.evaluation.metrics.paired import compare
    from theanine.evaluation.retrieval import ablations

    shown = ("recall@10", "recall@20", "session hit@10", "nDCG@10")
    console().print("\nwithout each part (p of no difference)")
    rows: list[list[str]] = []
    for part, ranking in ablations().items():
        run = measured(budgets=(), ranking=ranking)
        found = {one.measure: one for one in compare(run.items, whole.items)}
        cells = [f"{found[name].ours:.3f} ({found[name].p:.3f})" for name in shown]
        rows.append([part, *cells])
    show_table(["without", *shown], rows)
