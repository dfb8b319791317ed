"""`theanine bench retrieval`: how much of the labelled evidence recall finds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theanine.cli.options import (
    EmbedderOption,
    JsonOption,
    RerankedOption,
    RerankerOption,
    SettingsOption,
    parse_settings,
    show_json,
)
from theanine.cli.output import check_writable, progress, write_text
from theanine.cli.rendering import console, pluralize, show_table
from theanine_bench.cli.runs.options import again

if TYPE_CHECKING:
    from theanine_bench.datasets.labels import LabeledHistory
    from theanine_bench.metrics.intervals import Interval
    from theanine_bench.metrics.paired import PairedComparison
    from theanine_bench.tasks.retrieval_items import Run

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
HtmlOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write one self-contained page with curves."),
]
AblateOption = Annotated[
    bool, typer.Option("--ablate", help="Also without each part of the ranking, one row a part.")
]


def retrieval(
    context: typer.Context,
    data: DataArgument,
    unit: UnitOption = "turn",
    retriever: RetrieverOption = "hybrid",
    embedder: EmbedderOption = "local",
    reranker: RerankerOption = None,
    reranked: RerankedOption = None,
    against: AgainstOption = None,
    out: OutOption = None,
    html: HtmlOption = None,
    ablate: AblateOption = False,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """How much of the labelled evidence recall finds, with no language model.

    Conversations are imported, remembered and asked as any user's are. Means are over questions,
    with 95 % bootstrap intervals. `theanine bench report` makes the page of kept items.

    \b
    theanine bench retrieval locomo --out ours.jsonl --html ours.html
    theanine bench retrieval locomo --retriever lexical --against ours.jsonl
    theanine bench retrieval locomo10.json --unit segment --set denoise=none
    theanine bench retrieval locomo10.json --reranker cross-encoder:models/reranker
    """
    from theanine.retrieval.rerank import DEFAULT_RERANK_DEPTH
    from theanine_bench.tasks.retrieval import Models, bench_retrieval
    from theanine_bench.tasks.retrieval_items import read_retrieved

    _check(out, html, retriever if ablate else "hybrid")
    other = None if against is None else read_retrieved(against)
    labelled, sha256 = _read(data)
    measured = partial(
        bench_retrieval,
        labelled,
        unit=unit,
        retrieval=retriever,
        models=Models(
            embedder=embedder, reranker=reranker, reranked=reranked or DEFAULT_RERANK_DEPTH
        ),
        settings=parse_settings(settings or []),
    )
    run = _with_bar(measured, len(labelled), unit)
    run = replace(run, data=str(data), sha256=sha256, command=again(context))
    _keep(run, out)  # before what takes another dozen runs
    if ablate:
        run = replace(run, ablations=_ablated(run, measured, len(labelled)))
        _keep(run, out)
    _show(run, other, against, as_json=as_json)
    if html is not None:
        _write_page(html, run, other)


def _check(out: Path | None, html: Path | None, ablated: str) -> None:
    """Raises SettingsError, before any work is done, for what makes no sense."""
    from theanine.errors import SettingsError

    for file in filter(None, (out, html)):
        check_writable(file)
    if ablated != "hybrid":
        raise SettingsError("--ablate takes parts from hybrid retrieval: leave --retriever out")


def _read(data: Path) -> tuple[list[LabeledHistory], str]:
    """The labelled conversations, and the hash of where they come from."""
    from theanine_bench.datasets.evidence import read_evidence
    from theanine_bench.datasets.registry import resolve_data_path
    from theanine_bench.files import hash_files

    path = resolve_data_path(data)
    return read_evidence(path), hash_files(path)


def _write_page(file: Path, run: Run, other: Run | None) -> None:
    from theanine_bench.report import retrieval_page

    write_text(file, retrieval_page(run, other))
    print(f"wrote {file}", file=sys.stderr)


def _with_bar(measured: Callable[..., Run], length: int, label: str, **more: Any) -> Run:
    with progress(length, label) as step:

        def tick(_: str) -> None:
            step()

        return measured(progress=tick, **more)


def _keep(run: Run, file: Path | None) -> None:
    from theanine_bench.tasks.retrieval_items import lines_of_run

    if file is not None:
        write_text(file, lines_of_run(run))


def _ablated(
    whole: Run, measured: Callable[..., Run], length: int
) -> dict[str, list[PairedComparison]]:
    """The run without each part of the ranking, held against the whole."""
    from theanine_bench.metrics.paired import compare_paired
    from theanine_bench.tasks.retrieval import ablations

    return {
        part: compare_paired(
            _with_bar(measured, length, f"without {part}", budgets=(), ranking=ranking).items,
            whole.items,
        )
        for part, ranking in ablations().items()
    }


def _show(run: Run, other: Run | None, against: Path | None, *, as_json: bool) -> None:
    from theanine_bench.metrics.paired import compare_paired

    whole = run.measures()
    compared = [] if other is None else compare_paired(run.items, other.items)
    if as_json:
        found: dict[str, Any] = {name: asdict(value) for name, value in whole.items()}
        if other is not None:
            found["against"] = {one.measure: asdict(one) for one in compared}
        if run.ablations:
            found["without"] = {
                part: {one.measure: asdict(one) for one in rows}
                for part, rows in run.ablations.items()
            }
        show_json(found)
        return
    _show_measures(run, whole)
    if other is not None:
        _show_compared(compared, against)
    if run.ablations:
        _show_ablated(run)


def _show_measures(run: Run, whole: Mapping[str, Interval]) -> None:
    by = {category: run.measures(category) for category in run.categories}
    reranker = f", reranked by {run.reranker}" if run.reranker else ""
    console().print(
        f"{pluralize(len(run.items), 'questions')}, unit {run.unit}, {run.retrieval}, "
        f"{run.embedder}{reranker}",
        markup=False,
    )
    show_table(
        ["measure", "all", *(f"{name} ({by[name]['MRR'].n})" for name in by)],
        ([name, whole[name], *(f"{by[c][name].mean:.3f}" for c in by)] for name in whole),
    )
    dropped = ", ".join(pluralize(count, reason) for reason, count in run.dropped.items())
    console().print(
        f"recall p50 {run.seconds(0.5) * 1000:.1f} ms, p95 {run.seconds(0.95) * 1000:.1f} ms; "
        f"remembered in {run.remember_seconds:.1f} s; index {run.index_bytes / 1e6:.1f} MB; "
        f"dropped: {dropped or 'nothing'}"
    )


def _show_compared(compared: Sequence[PairedComparison], file: Path | None) -> None:
    console().print(f"\nagainst {file}", markup=False)
    show_table(
        ["measure", "this run", "that run", "difference", "p", "n"],
        (
            [one.measure, f"{one.ours:.3f}", f"{one.theirs:.3f}", _signed(one.difference),
             f"{one.p:.4f}", one.n]
            for one in compared
        ),
    )  # fmt: skip


def _signed(one: Interval) -> str:
    return f"{one.mean:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"


def _show_ablated(run: Run) -> None:
    """The main measures without each part, and how likely the difference is chance."""
    shown = ("recall@10", "recall@20", "session hit@10", "nDCG@10")
    console().print("\nwithout each part (p of no difference)")
    rows: list[list[str]] = []
    for part, compared in run.ablations.items():
        found = {one.measure: one for one in compared}
        rows.append([part, *(f"{found[name].ours:.3f} ({found[name].p:.3f})" for name in shown)])
    show_table(["without", *shown], rows)
