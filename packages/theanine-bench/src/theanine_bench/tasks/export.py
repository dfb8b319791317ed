"""Exports of runs: JSON and CSV with every result, Markdown and LaTeX with the table of scores.

A task module may define ``result_table(run)`` for a table of its own.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from theanine.cli.text import csv_cell
from theanine.errors import SettingsError
from theanine_bench.runs.saved_run import SavedRun
from theanine_bench.samples import SampleResult, score_names, sort_names


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A run's main table, as text."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def export_run(run: SavedRun, format: str) -> str:
    """Return a run as text in one of :data:`FORMATS`. Raises SettingsError for another."""
    if format not in FORMATS:
        raise SettingsError(f"unknown format {format!r}; there are: {', '.join(FORMATS)}")
    return FORMATS[format](run)


def result_table(run: SavedRun) -> ResultTable:
    """Return the table of a run: its bench's own, or scores with intervals and by category."""
    return own_table(run) or _score_table(run)


def own_table(run: SavedRun) -> ResultTable | None:
    """Return the table that the run's bench defines; None if it defines none."""
    module = f"theanine_bench.tasks.{run.bench}"
    own = getattr(import_module(module), "result_table", None) if find_spec(module) else None
    return own(run) if own else None


def _score_table(run: SavedRun) -> ResultTable:
    summary = run.summary
    categories = [name for name in summary["categories"] if name]
    categories = categories if len(categories) > 1 else []
    rows = [
        [
            name,
            *_figures(mean),
            *(_figures(summary["categories"][c].get(name))[0] for c in categories),
        ]
        for name, mean in summary["metrics"].items()
    ]
    intervals = summary.get("corpus_intervals", {})
    for name, value in summary["corpus"].items():
        if isinstance(value, float):
            figures = _figures({"mean": value, **intervals.get(name, {})})
            rows.append([name, *figures, *("" for _ in categories)])
    return ResultTable(["metric", "mean", "95 %", "n", "failed", *categories], rows)


def _figures(mean: Mapping[str, Any] | None) -> tuple[str, str, str, str]:
    """Return mean, interval, n and failures; empty where unknown."""
    if mean is None or mean["mean"] is None:
        return "", "", "", str(mean["failed"]) if mean else ""
    interval = f"{mean['low']:.3f} – {mean['high']:.3f}" if "low" in mean else ""
    return f"{mean['mean']:.3f}", interval, str(mean.get("n", "")), str(mean.get("failed", ""))


def _to_json(run: SavedRun) -> str:
    record = {
        "name": run.name,
        "command": run.command,
        "settings": run.settings,
        "summary": run.summary,
        "facts": run.facts,
        "results": [
            {**result.record(), "seconds": run.seconds.get(id)}
            for id, result in run.results.items()
        ],
    }
    return json.dumps(record, ensure_ascii=False, indent=2) + "\n"


def _to_csv(run: SavedRun) -> str:
    """Return a row for each sample, with its scores."""
    results = list(run.results.values())
    names = sort_names(score_names(results), run.settings["metrics"])
    columns = ("id", "group", "category", "question", "reference", "answer")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*columns, "recalled_tokens", "seconds", *names, "failures"])
    for result in results:
        writer.writerow(
            [
                *(csv_cell(getattr(result, column)) for column in columns),
                result.recalled_tokens,
                run.seconds.get(result.id, ""),
                *(result.scores.get(name, "") for name in names),
                csv_cell(_failures(result)),
            ]
        )
    return out.getvalue()


def _failures(result: SampleResult) -> str:
    return "; ".join(f"{name}: {why}" for name, why in result.failures.items())


def _to_markdown(run: SavedRun) -> str:
    table = result_table(run)

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"

    rule = line(["---", *("---:" for _ in table.columns[1:])])
    return line(table.columns) + rule + "".join(map(line, table.rows))


def _to_latex(run: SavedRun) -> str:
    """Return a ``tabular`` with the rules of booktabs."""
    table = result_table(run)

    def line(cells: Sequence[str]) -> str:
        return " & ".join(map(_escape_latex, cells)) + " \\\\\n"

    return (
        f"\\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}\n\\toprule\n"
        f"{line(table.columns)}\\midrule\n{''.join(map(line, table.rows))}"
        "\\bottomrule\n\\end{tabular}\n"
    )


def _escape_latex(text: str) -> str:
    text = text.replace("\\", r"\textbackslash{}")
    for character in "&%$#_{}":
        text = text.replace(character, f"\\{character}") if character not in "{}" else text
    return text.replace("~", r"\textasciitilde{}").replace("–", "--")


FORMATS: Mapping[str, Callable[[SavedRun], str]] = {
    "json": _to_json,
    "csv": _to_csv,
    "md": _to_markdown,
    "latex": _to_latex,
}
