"""The page of a segmentation run: published figures alongside, and each dialogue."""

from __future__ import annotations

from typing import Any

from theanine_bench.analysis.tables import Table, load_tables
from theanine_bench.report.page import render_page
from theanine_bench.runs.saved_run import SavedRun
from theanine_bench.samples import SampleResult


def segmentation_page(run: SavedRun) -> str:
    """Return the page as one HTML text.

    Published figures of the data set that the run's name or command names come first.
    """
    published = [table for table in load_tables() if table.bench == "segmentation"]
    title = f"{run.name} {run.command}"
    data = {
        "title": run.name,
        "about": _about(run),
        "command": run.command,
        "speed": turns_per_second(run),
        "measures": segmentation_figures(run),
        "published": [_table(table) for table in published],
        "named": next((table.id for table in published if _names(title, table)), ""),
        "items": [_item(result) for result in run.results.values() if result.output],
    }
    return render_page("segmentation.html", title=run.name, data=data, scripts=["segmentation.js"])


def segmentation_figures(run: SavedRun) -> dict[str, dict[str, float]]:
    """Return Pk, WD, F1 and the score as ``{mean, low, high, n}``; those that the run has."""
    summary = run.summary
    figures = {
        name: summary["metrics"][name] for name in ("Pk", "WD") if name in summary["metrics"]
    }
    for name, interval in summary.get("corpus_intervals", {}).items():
        figures[name] = {"mean": summary["corpus"][name], **interval}
    return figures


def turns_per_second(run: SavedRun) -> float:
    """Return the speed of the segmenter, one dialogue after the other."""
    turns = sum(len(run.results[id].dialogue) for id in run.seconds if id in run.results)
    return turns / max(sum(run.seconds.values()), 1e-9)


def _about(run: SavedRun) -> list[tuple[str, str]]:
    config, facts = run.settings["config"], run.summary.get("facts", {})
    calls = run.summary["spent"].get("answering", {})
    about = {
        "Segmenter": config["method"],
        "Guidance": config["settings"].get("guidance", ""),
        "Model": config["model"] if config["method"] == "llm" else "",
        **{name.capitalize(): facts[name] for name in ("fallbacks", "replayed") if name in facts},
        **{name: calls[key] for name, key in _CALLS.items() if key in calls},
        "Data, SHA-256": run.settings["data"][:16],
        "Seed of the intervals": "0",
        "theanine": run.settings["theanine"],
    }
    return [(name, str(value)) for name, value in about.items()]


_CALLS = {"Calls": "calls", "Input tokens": "input_tokens", "Output tokens": "output_tokens"}


def _item(result: SampleResult) -> tuple[Any, ...]:
    texts = [turn["text"] for turn in result.dialogue]
    scores = result.scores
    return (
        result.id, texts, result.extra["gold"], result.output["segments"],
        scores["Pk"], scores["WD"],
    )  # fmt: skip


def _names(title: str, table: Table) -> bool:
    """Whether a file or set is called as the data of a table."""
    return table.id.removeprefix(f"{table.bench}-") in title.lower()


def _table(one: Table) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": f"{one.description.rpartition(', ')[2]} ({one.paper}, {one.location})",
        "columns": [column.measure for column in one.columns],
        "rows": [(row.label, row.values) for row in one.rows],
    }
