"""The page of a segmentation run: published figures alongside, and each dialogue."""

from __future__ import annotations

from typing import Any

from theanine_bench.analysis.tables import Table, load_tables
from theanine_bench.report.page import render_page
from theanine_bench.runs.saved_run import SavedRun
from theanine_bench.samples import SampleResult

_CALLS = {"Calls": "calls", "Input tokens": "input_tokens", "Output tokens": "output_tokens"}


def segmentation_page(run: SavedRun) -> str:
    """Return the page as one HTML text.

    Published figures of the data set that the run's name or command names come first.
    """
    published = [table for table in load_tables() if table.bench == "segmentation"]
    title = f"{run.name} {run.command}".lower()
    data = {
        "title": run.name,
        "about": _about(run),
        "command": run.command,
        "speed": turns_per_second(run),
        "metrics": _metrics(run),
        "published": [_table(table) for table in published],
        "named": next((t.id for t in published if t.id.partition("-")[2] in title), ""),
        "items": [_item(result) for result in run.results.values() if result.output],
    }
    return render_page("segmentation.html", title=run.name, data=data, scripts=["segmentation.js"])


def _metrics(run: SavedRun) -> dict[str, dict[str, float]]:
    """Return ``{mean, low, high, n}`` of each metric that the run has."""
    summary = run.summary
    means = dict(summary["metrics"])
    corpus = {
        name: {"mean": summary["corpus"][name], **interval}
        for name, interval in summary.get("corpus_intervals", {}).items()
    }
    return {**means, **corpus}


def turns_per_second(run: SavedRun) -> float:
    """Return the speed of the segmenter, run on one dialogue after the other."""
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


def _item(result: SampleResult) -> dict[str, Any]:
    return {
        "id": result.id,
        "texts": [turn["text"] for turn in result.dialogue],
        "gold": result.extra["gold"],
        "predicted": result.output["segments"],
        "scores": dict(result.scores),
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        "id": table.id,
        "name": f"{table.description.rpartition(', ')[2]} ({table.paper}, {table.location})",
        "columns": [column.measure for column in table.columns],
        "rows": [(row.label, row.values) for row in table.rows],
    }
