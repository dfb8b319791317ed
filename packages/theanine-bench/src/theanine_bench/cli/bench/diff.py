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
from theanine_bench.statistics.paired import PairedComparison

RENAMED_OPTIONS = {"--measure": "--metric"}
WIDTH = 150
"""Characters of an answer that are printed; ``--json`` and ``--html`` have all."""


RunsArgument = Annotated[
    list[Path],
    typer.Argument(metavar="RUN…", help="Folders of runs; the first is the baseline."),
]
MetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="Metric that orders the samples (default: the first).",
    ),
]
ShowOption = Annotated[
    int, typer.Option(min=0, metavar="N", help="Number of better and of worse samples to print.")
]
PageOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write the comparison as a page."),
]
BelowOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="METRIC=DELTA",
        help="Exit with 1 if a run is worse than the first by more than DELTA; repeatable.",
    ),
]


def diff(
    runs: RunsArgument,
    metric: MetricOption = None,
    show: ShowOption = 3,
    page: PageOption = None,
    fail_below: BelowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare runs over their common samples.

    Each metric's difference from the first run has a p-value: McNemar's for scores of 0 and 1, else
    a paired bootstrap's. Corpus BLEU has one too; MAUVE and BERTScore are shown without. Tokens,
    cost and latency are shown alongside.

    \b
    theanine bench diff runs/before runs/after
    theanine bench diff runs/turn runs/secom runs/theanine --html compared.html
    theanine bench diff runs/main runs/mine --fail-below right=0.02
    """
    bounds = _bounds(fail_below or [])
    found = diff_runs(anyio.run(read_runs, runs))
    lost = regressions(found, bounds)
    changes = _changes(found, metric)
    if page is not None:
        write_text(page, diff_page(found))
    if as_json:
        show_json({**found.record(), "changes": _told(changes, show), "regressions": lost})
    else:
        show_comparison(found)
        _show_changes(found, changes, show)
        for one in lost:
            console().print(f"worse than allowed: {one}", markup=False)
    if lost:
        raise typer.Exit(1)


def _bounds(given: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for one in given:
        name, _, bound = one.rpartition("=")
        try:
            found[name] = float(bound)
        except ValueError:
            found[name] = -1.0
        if not name or not 0 <= found[name] < float("inf"):
            raise SettingsError(f"--fail-below {one}: write it as METRIC=DELTA, as in right=0.02")
    return found


Changes = dict[str, tuple[str, list[Change]]]
"""By run: the metric, and the samples whose score changed."""


def _changes(found: Diff, metric: str | None) -> Changes:
    if metric is not None and metric not in found.means:
        known = ", ".join(found.means) or "none"
        raise SettingsError(f"the runs don't share a metric {metric!r}; they share: {known}")
    name = metric or next(iter(found.means), None)
    if name is None:
        return {}
    return {
        run.name: (name, found.changes(name, place)) for place, run in enumerate(found.runs[1:], 1)
    }


def _split(changes: Sequence[Change], show: int) -> dict[str, list[Change]]:
    """Return the ``show`` samples that improved most, and those that worsened most."""
    better = [one for one in changes if one.gain > 0]
    worse = [one for one in reversed(changes) if one.gain < 0]
    return {"better": better[:show], "worse": worse[:show]}


def _told(changes: Changes, show: int) -> dict[str, Any]:
    return {
        run: {
            "measure": name,
            **{kind: [_case(one) for one in some] for kind, some in _split(all_, show).items()},
        }
        for run, (name, all_) in changes.items()
    }


def _case(one: Change) -> dict[str, Any]:
    first = one.sample.results[0]
    return {
        "id": one.sample.id,
        "category": first.category,
        "asked": first.question,
        "reference": first.reference,
        "before": one.before,
        "after": one.after,
        "answers": [item.answer for item in one.sample.results],
    }


def show_comparison(found: Diff) -> None:
    """Print the runs with their costs, and their scores side by side."""
    letters = [chr(ord("A") + place) for place in range(len(found.runs))]
    told = found.record()
    show_table(
        [
            "",
            "run",
            "samples",
            "recalled",
            "latency, s",
            "cost per sample",
            "tokens in",
            "tokens out",
        ],
        (
            [
                letter,
                run["name"],
                f"{run['done']} of {run['samples']}",
                f"{run['recalled_tokens']:,.0f}",
                "–" if run["seconds"] is None else f"{run['seconds']:.3f}",
                "unknown" if run["cost"] is None else f"${run['cost']:,.4f}",
                *_tokens(run["spent"]),
            ]
            for letter, run in zip(letters, told["runs"], strict=True)
        ),
    )
    for one in found.warnings:
        console().print(f"warning: {one}", markup=False)
    for reason, count in found.left_out.items():
        console().print(f"left out: {pluralize(count, reason)}", markup=False)
    console().print(f"\n{pluralize(len(found.samples), 'common samples')}")
    heads = [words for letter in letters[1:] for words in (letter, f"{letter} − A", "p")]
    show_table(["metric", "A", *heads, "n"], _rows(found))
    if found.corpus:
        show_table(["corpus metric", "A", *heads, "n"], _whole_rows(found))
    for why, names in _untested(found).items():
        console().print(f"{', '.join(names)}: {why}", markup=False)


def _tokens(spent: dict[str, Any]) -> list[str]:
    """Return tokens in and out of the target's own calls, without the judge's."""
    own = [sums for what, sums in spent.items() if what != "judging"]
    return [f"{sum(one[name] for one in own):,}" for name in ("input_tokens", "output_tokens")]


def _rows(found: Diff) -> list[list[object]]:
    rows: list[list[object]] = []
    for name, means in found.means.items():
        against = [
            next(one for one in comparison if one.measure == name)
            for comparison in found.comparisons
        ]
        rows.append(_row(name, [f"{one.mean:.3f}" for one in means], against, means[0].n))
    for name, counts in found.failing.items():
        rows.append(_row(name, [f"– ({count} failed)" for count in counts], (), 0))
    return rows


def _whole_rows(found: Diff) -> list[list[object]]:
    return [
        _row(
            name,
            ["–" if value is None else f"{value:.3f}" for value in one.values],
            one.against,
            one.against[0].n if one.against else "–",
        )
        for name, one in found.corpus.items()
    ]


def _row(
    name: str, values: Sequence[str], against: Sequence[PairedComparison], n: object
) -> list[object]:
    """Return the runs' values, each later one with its difference from the first and p-value."""
    row: list[object] = [name, values[0]]
    for value, one in zip_longest(values[1:], against):
        row += [value, *(_tested(one) if one else ("–", "–"))]
    return [*row, n]


def _tested(one: PairedComparison) -> tuple[str, str]:
    mean, low, high = one.difference.mean, one.difference.low, one.difference.high
    return f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]", f"{one.p:.4f}"


def _untested(found: Diff) -> dict[str, list[str]]:
    """Return corpus metrics without a p-value, by the reason."""
    told: dict[str, dict[str, None]] = {}
    for name, one in found.corpus.items():
        if one.why:
            told.setdefault(one.why, {})[name.split("/")[0]] = None
    return {why: list(names) for why, names in told.items()}


def _show_changes(found: Diff, changes: Changes, show: int) -> None:
    for place, (run, (name, all_)) in enumerate(changes.items(), 1):
        better = sum(one.gain > 0 for one in all_)
        console().print(
            f"\n{run} by {name}: {better} better, {len(all_) - better} worse, "
            f"{found.means[name][0].n - len(all_)} the same",
            markup=False,
        )
        for kind, some in _split(all_, show).items():
            for one in some:
                first = one.sample.results[0]
                console().print(
                    f"  {kind}, {one.before:.3f} → {one.after:.3f}: {_short(first.question)} "
                    f"[{one.sample.id}]",
                    markup=False,
                )
                console().print(f"    A: {_short(first.answer)}", markup=False)
                console().print(
                    f"    {chr(ord('A') + place)}: {_short(one.sample.results[place].answer)}",
                    markup=False,
                )


def _short(words: str | None) -> str:
    if words is None:
        return "no answer"
    line = " ".join(words.split())
    return line if len(line) <= WIDTH else f"{line[:WIDTH].rstrip()}…"
