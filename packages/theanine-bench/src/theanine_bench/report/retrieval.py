"""The page of a retrieval run: curves over tokens and ranks, categories, ablations, questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from theanine.errors import BadInput
from theanine_bench.report.page import render_page
from theanine_bench.runs.saved_run import SavedRun, mean_scores
from theanine_bench.samples import SampleResult
from theanine_bench.statistics.intervals import Interval
from theanine_bench.statistics.paired import compare_paired


def retrieval_page(run: SavedRun, other: SavedRun | None = None) -> str:
    """Return the page as one HTML text.

    With ``other``, both runs over their common questions. Raises BadInput if there are none.
    """
    runs, left_out = ([run], 0) if other is None else _common(run, other)
    names = list(run.settings["metrics"])
    theirs: Mapping[str, SampleResult] = runs[-1].results if other else {}
    data = {
        "title": run.name,
        "command": run.command,
        "names": names,
        "runs": [_run(each, label) for each, label in zip(runs, _labels(runs), strict=True)],
        "compared": [
            row.record() for row in compare_paired(runs[0].results.values(), theirs.values())
        ],
        "leftOut": left_out,
        "sameData": len({each.settings["data"] for each in runs}) == 1,
        "ablations": run.summary.get("ablations", {}),
        "items": [
            _item(result, theirs.get(id), run.seconds.get(id), names)
            for id, result in runs[0].results.items()
        ],
    }
    return render_page("retrieval.html", title=run.name, data=data, scripts=["retrieval.js"])


def _common(run: SavedRun, other: SavedRun) -> tuple[list[SavedRun], int]:
    """Return both runs over their common questions, and the number of other questions."""
    ids = set(run.results) & set(other.results)
    if not ids:
        raise BadInput("the two runs have no question in common: they can't be drawn together")
    runs = [
        replace(each, results={id: result for id, result in each.results.items() if id in ids})
        for each in (run, other)
    ]
    return runs, len(run.results) + len(other.results) - 2 * len(ids)


def _labels(runs: Sequence[SavedRun]) -> list[str]:
    """Name each run by its unit and settings, if these tell the runs apart."""
    labels: list[str] = []
    for run in runs:
        unit, retriever, reranker, settings = _split_settings(run)
        reranked = f"reranked by {reranker}" if reranker else ""
        labels.append(", ".join(filter(None, [unit, retriever, reranked, settings])))
    return ["this run", "that run"] if len(set(labels)) < len(labels) else labels


def _split_settings(run: SavedRun) -> tuple[str, str, str, str]:
    """Return unit, retriever, reranker and the other settings of a run."""
    settings = dict(run.settings["config"]["settings"])
    unit, retriever = settings.pop("unit", ""), settings.pop("retrieval", "")
    reranker = settings.pop("reranker", None) or ""
    settings.pop("rerank_depth", None)
    return unit, retriever, reranker, ", ".join(f"{k}={v}" for k, v in settings.items())


def _run(run: SavedRun, label: str) -> dict[str, Any]:
    results = list(run.results.values())
    seconds = sorted(run.seconds[id] for id in run.results if id in run.seconds)
    facts = run.summary.get("facts", {})
    return {
        "name": label,
        "about": _about(run),
        "questions": len(results),
        "p50": seconds[len(seconds) // 2] if seconds else 0,
        "p95": seconds[int(len(seconds) * 0.95)] if seconds else 0,
        "remembered": facts.get("remember_seconds", 0),
        "index": facts.get("index_bytes", 0),
        "dropped": run.summary["dropped"],
        "metrics": _intervals(mean_scores(results, run.binary)),
        "categories": {
            category: _intervals(
                mean_scores([r for r in results if r.category == category], run.binary)
            )
            for category in sorted({result.category for result in results})
        },
    }


def _about(run: SavedRun) -> list[tuple[str, str]]:
    """Return what was run, as names and values."""
    config, facts = run.settings["config"], run.summary.get("facts", {})
    unit, retriever, reranker, settings = _split_settings(run)
    return [
        ("Unit", unit),
        ("Retriever", retriever),
        ("Embedder", facts.get("embedder", config["embedder"])),
        ("Reranker", facts.get("reranker", reranker)),
        ("Settings", settings),
        ("Conversations", f"{facts.get('conversations', 0):,}"),
        ("Turns", f"{facts.get('turns', 0):,}"),
        ("Data, SHA-256", run.settings["data"][:16]),
        ("Seed of the intervals", "0"),
        ("theanine", run.settings["theanine"]),
    ]


def _intervals(means: Mapping[str, Interval]) -> dict[str, dict[str, float]]:
    return {name: asdict(mean) for name, mean in means.items()}


def _item(
    result: SampleResult, other: SampleResult | None, seconds: float | None, names: Sequence[str]
) -> dict[str, Any]:
    """Return a question with its scores in the order of ``names``; None for a missing one."""
    theirs = other.output.get("evidence", ()) if other else ()
    ranks = {(turn["speaker"], turn["text"]): turn["rank"] for turn in theirs}
    return {
        "id": result.id,
        "category": result.category,
        "question": result.question,
        "evidence": [
            (
                speaker := turn["speaker"],
                text := turn["text"],
                turn["rank"],
                ranks.get((speaker, text)),
            )
            for turn in result.output.get("evidence", ())
        ],
        "scores": [result.scores.get(name) for name in names],
        "otherScores": None if other is None else [other.scores.get(name) for name in names],
        "seconds": seconds or 0,
    }
