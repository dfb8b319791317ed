"""Compare runs over their common samples."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from theanine.cli.options import JsonOption, show_json
from theanine.cli.output import write_text
from theanine.cli.rendering import console, pluralize, show_table
from theanine.errors import SettingsError
from theanine_bench.analysis.diff import Change, Diff, diff_runs, regressions
from theanine_bench.report import diff_page
from theanine_bench.runs.saved_run import read_runs
from theanine_bench.statistics.paired import PairedComparison, show_p_value

WIDTH = 150
"""Characters of an answer that are printed; ``--json`` and ``--html`` have all."""


def diff(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN…", help="Folders of runs; the first is the baseline."),
    ],
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Metric that orders the samples (default: the first).",
        ),
    ] = None,
    show: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Number of better and of worse samples to print."),
    ] = 3,
    page: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write the comparison as a page."),
    ] = None,
    fail_below: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=DELTA",
            help="Exit with 1 if a run is worse than the first by more than DELTA; repeatable.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare runs over their common samples.

    Each metric's difference from the first run has a p-value of Fisher's randomization test, which
    for scores of 0 and 1 is McNemar's; fewer than five samples have none. Corpus BLEU has one too;
    MAUVE and BERTScore are shown without. Tokens, cost and latency are shown alongside.

    \b
    theanine bench diff runs/before runs/after
    theanine bench diff runs/turn runs/secom runs/theanine --html compared.html
    theanine bench diff runs/main runs/mine --fail-below right=0.02
    """
    limits = dict(map(_parse_limit, fail_below or []))
    comparison = diff_runs(anyio.run(read_runs, runs))
    regressed = regressions(comparison, limits)
    if metric is not None and metric not in comparison.means:
        shared = ", ".join(comparison.means) or "none"
        raise SettingsError(f"the runs don't share a metric {metric!r}; they share: {shared}")
    metric = metric or next(iter(comparison.means), None)
    if page is not None:
        write_text(page, diff_page(comparison))
    if as_json:
        changes = _changes_record(comparison, metric, show) if metric else {}
        show_json({**comparison.record(), "changes": changes, "regressions": regressed})
    else:
        show_comparison(comparison)
        if metric:
            _show_changes(comparison, metric, show)
        for regression in regressed:
            console().print(f"worse than allowed: {regression}", markup=False)
    if regressed:
        raise typer.Exit(1)


def _parse_limit(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        limit = float(value)
    except ValueError:
        limit = -1.0
    if not name or not 0 <= limit < float("inf"):
        raise SettingsError(f"--fail-below {text}: write it as METRIC=DELTA, as in right=0.02")
    return name, limit


def _split(changes: Sequence[Change], count: int) -> dict[str, list[Change]]:
    """Return the ``count`` samples that improved most, and those that worsened most."""
    better = [change for change in changes if change.gain > 0]
    worse = [change for change in reversed(changes) if change.gain < 0]
    return {"better": better[:count], "worse": worse[:count]}


def _changes_record(comparison: Diff, metric: str, count: int) -> dict[str, Any]:
    return {
        run.name: {
            "measure": metric,
            **{
                kind: [
                    {
                        "id": change.sample.id,
                        "category": change.sample.results[0].category,
                        "asked": change.sample.results[0].question,
                        "reference": change.sample.results[0].reference,
                        "before": change.before,
                        "after": change.after,
                        "answers": [result.answer for result in change.sample.results],
                    }
                    for change in changes
                ]
                for kind, changes in _split(comparison.changes(metric, number), count).items()
            },
        }
        for number, run in enumerate(comparison.runs[1:], 1)
    }


def show_comparison(comparison: Diff) -> None:
    """Print the runs with their costs, and their scores next to each other."""
    letters = [chr(ord("A") + number) for number in range(len(comparison.runs))]
    rows: list[list[object]] = []
    for letter, run in zip(letters, comparison.record()["runs"], strict=True):
        target = [usage for purpose, usage in run["spent"].items() if purpose != "judging"]
        rows.append(
            [
                letter,
                run["name"],
                f"{run['done']} of {run['samples']}",
                f"{run['recalled_tokens']:,.0f}",
                "–" if run["seconds"] is None else f"{run['seconds']:.3f}",
                "unknown" if run["cost"] is None else f"${run['cost']:,.4f}",
                f"{sum(usage['input_tokens'] for usage in target):,}",
                f"{sum(usage['output_tokens'] for usage in target):,}",
            ]
        )
    costs = ["recalled", "latency, s", "cost per sample", "tokens in", "tokens out"]
    show_table(["", "run", "samples", *costs], rows)
    for warning in comparison.warnings:
        console().print(f"warning: {warning}", markup=False)
    for reason, count in comparison.left_out.items():
        console().print(f"left out: {pluralize(count, reason)}", markup=False)
    console().print(f"\n{pluralize(len(comparison.samples), 'common samples')}")
    headings = [text for letter in letters[1:] for text in (letter, f"{letter} − A", "p")]
    show_table(["metric", "A", *headings, "n"], _metric_rows(comparison))
    if not comparison.corpus:
        return
    corpus_rows: list[list[object]] = []
    untested: dict[str, dict[str, None]] = {}
    for name, result in comparison.corpus.items():
        values = ["–" if value is None else f"{value:.3f}" for value in result.values]
        n = result.against[0].n if result.against else "–"
        corpus_rows.append(_row(name, values, result.against, n))
        if result.why:
            untested.setdefault(result.why, {})[name.split("/")[0]] = None
    show_table(["corpus metric", "A", *headings, "n"], corpus_rows)
    for reason, names in untested.items():
        console().print(f"{', '.join(names)}: {reason}", markup=False)


def _metric_rows(comparison: Diff) -> list[list[object]]:
    rows: list[list[object]] = []
    for name, means in comparison.means.items():
        against = [
            next(paired for paired in run if paired.measure == name)
            for run in comparison.comparisons
        ]
        rows.append(_row(name, [f"{mean.mean:.3f}" for mean in means], against, means[0].n))
    for name, counts in comparison.failing.items():
        rows.append(_row(name, [f"– ({count} failed)" for count in counts], (), 0))
    return rows


def _row(
    name: str, values: Sequence[str], against: Sequence[PairedComparison], n: object
) -> list[object]:
    """Return the runs' values, each later one with its difference from the first and p-value."""
    row: list[object] = [name, values[0]]
    for value, paired in zip_longest(values[1:], against):
        row.append(value)
        if paired is None:
            row += ["–", "–"]
        else:
            found = paired.interval
            interval = f" [{found.low:+.3f}, {found.high:+.3f}]" if found else ""
            row += [f"{paired.difference:+.3f}{interval}", show_p_value(paired.p)]
    return [*row, n]


def _show_changes(comparison: Diff, metric: str, count: int) -> None:
    for number, run in enumerate(comparison.runs[1:], 1):
        changes = comparison.changes(metric, number)
        better = sum(change.gain > 0 for change in changes)
        lines = [
            f"\n{run.name} by {metric}: {better} better, {len(changes) - better} worse, "
            f"{comparison.means[metric][0].n - len(changes)} the same"
        ]
        for kind, largest in _split(changes, count).items():
            for change in largest:
                first, other = change.sample.results[0], change.sample.results[number]
                lines += [
                    f"  {kind}, {change.before:.3f} → {change.after:.3f}: "
                    f"{_shorten(first.question)} [{change.sample.id}]",
                    f"    A: {_shorten(first.answer)}",
                    f"    {chr(ord('A') + number)}: {_shorten(other.answer)}",
                ]
        console().print("\n".join(lines), markup=False)


def _shorten(text: str | None) -> str:
    if text is None:
        return "no answer"
    line = " ".join(text.split())
    return line if len(line) <= WIDTH else f"{line[:WIDTH].rstrip()}…"
