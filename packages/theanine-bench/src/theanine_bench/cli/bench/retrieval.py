"""Measure how much labeled evidence recall finds, without a language model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import anyio
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
from theanine.cli.output import check_writable, write_text
from theanine.cli.rendering import console, show_table
from theanine.cli.text import pluralize
from theanine.errors import SettingsError
from theanine_bench.analysis.diff import diff_runs
from theanine_bench.cli.bench.diff import show_comparison
from theanine_bench.cli.execution import (
    execute,
    exit_unless_complete,
    kept_or_temporary,
    show_summary,
)
from theanine_bench.cli.run_options import (
    DataArgument,
    HtmlOption,
    TemporaryOutOption,
    run_command,
)
from theanine_bench.config import RunConfig
from theanine_bench.datasets.evidence import read_evidence
from theanine_bench.datasets.labels import LabeledHistory
from theanine_bench.datasets.registry import resolve_data_path
from theanine_bench.files import hash_files
from theanine_bench.report import retrieval_page
from theanine_bench.runs.folder import SUMMARY, RunFolder
from theanine_bench.runs.runner import RunLimits
from theanine_bench.runs.saved_run import SavedRun, read_run
from theanine_bench.statistics.paired import compare_paired, show_p_value
from theanine_bench.tasks.retrieval import ablations, retrieval_config, retrieval_task

SEQUENTIAL = RunLimits(concurrency=1)
"""Run one question at a time, so that recall times do not overlap."""


@run_command
def retrieval(
    data: DataArgument,
    unit: Annotated[
        str,
        typer.Option(
            metavar="UNIT", help="What is ranked: turn, exchange, segment, session or memory."
        ),
    ] = "turn",
    retriever: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="hybrid, dense, lexical or okapi (BM25 as LangChain has it)."
        ),
    ] = "hybrid",
    embedder: EmbedderOption = "local",
    reranker: RerankerOption = None,
    rerank_depth: RerankedOption = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Another run to compare with, question by question."),
    ] = None,
    out: TemporaryOutOption = None,
    html: HtmlOption = None,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Measure also without each part of the ranking.")
    ] = False,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how much labeled evidence recall finds, without a language model.

    Conversations are imported, remembered and recalled like any user's. Means are over questions,
    with 95 % intervals.

    \b
    theanine bench retrieval locomo --out runs/ours --html ours.html
    theanine bench retrieval locomo --retriever lexical --against runs/ours
    theanine bench retrieval locomo10.json --unit segment --set denoise=none
    theanine bench retrieval locomo10.json --reranker cross-encoder:models/reranker
    """
    if html is not None:
        check_writable(html)
    if ablate and retriever != "hybrid":
        raise SettingsError("--ablate takes parts from hybrid retrieval: leave --retriever out")
    other = None if against is None else anyio.run(read_run, against)
    config = retrieval_config(
        unit, retriever, embedder=embedder, reranker=reranker, rerank_depth=rerank_depth,
        settings=parse_settings(settings or []),
    )  # fmt: skip
    path = resolve_data_path(data)
    labeled, data_hash = read_evidence(path), hash_files(path)
    with kept_or_temporary(out, keep=False) as folder:
        assert folder
        _, summary = execute(retrieval_task(labeled, data_hash), config, folder, SEQUENTIAL)
        if ablate:
            _ablate(folder, labeled, data_hash, config)
        run = anyio.run(read_run, folder.path, "" if out else str(data))
    if html is not None:
        write_text(html, retrieval_page(run, other))
    _show(run, other, as_json=as_json)
    exit_unless_complete(summary)


def _ablate(folder: RunFolder, labeled: list[LabeledHistory], data: str, config: RunConfig) -> None:
    """Run without each part of the ranking; add each part's comparison to the run's summary."""
    full = folder.results().values()
    ablations_record: dict[str, Any] = {}
    for part, ranking in ablations().items():
        task = retrieval_task(labeled, data, budgets=(), ranking=ranking)
        without, _ = execute(task, config, RunFolder(folder.path / "without" / part), SEQUENTIAL)
        rows = compare_paired(without.results().values(), full)
        ablations_record[part] = [row.record() for row in rows]
    summary = {**folder.summary(), "ablations": ablations_record}
    folder.write(SUMMARY, json.dumps(summary, ensure_ascii=False, indent=2) + "\n")


def _show(run: SavedRun, other: SavedRun | None, *, as_json: bool) -> None:
    if as_json:
        record = dict(run.summary)
        if other is not None:
            rows = compare_paired(run.results.values(), other.results.values())
            record["against"] = {row.measure: row.record() for row in rows}
        show_json(record)
        return
    facts, settings = run.summary["facts"], run.settings["config"]["settings"]
    reranker = f", reranked by {facts['reranker']}" if facts["reranker"] else ""
    console().print(
        f"{pluralize(len(run.results), 'questions')}, unit {settings['unit']}, "
        f"{settings['retrieval']}, {facts['embedder']}{reranker}",
        markup=False,
    )
    show_summary(run.summary)
    console().print(
        f"remembered in {facts['remember_seconds']:.1f} s; "
        f"index {facts['index_bytes'] / 1e6:.1f} MB"
    )
    if other is not None:
        console().print(f"\nA: {other.name}, B: this run", markup=False)
        show_comparison(diff_runs([other, run]))
    if parts := run.summary.get("ablations"):
        _show_ablations(parts)


def _show_ablations(parts: Mapping[str, Any]) -> None:
    """Print the main metrics without each part, and the p-value of the difference."""
    shown = ("recall@10", "recall@20", "session hit@10", "nDCG@10")
    console().print("\nwithout each part (p-value of the difference)")
    rows: list[list[str]] = []
    for part, compared in parts.items():
        by_name = {row["measure"]: row for row in compared}
        cells = (
            f"{by_name[name]['ours']:.3f} ({show_p_value(by_name[name]['p'], 3)})" for name in shown
        )
        rows.append([part, *cells])
    show_table(["without", *shown], rows)
