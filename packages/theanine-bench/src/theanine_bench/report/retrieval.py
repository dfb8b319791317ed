"""The page of a retrieval run: curves over tokens and ranks, categories, parts, every question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theanine.errors import BadInput
from theanine_bench.metrics.paired import compare_paired
from theanine_bench.report.page import render_page

if TYPE_CHECKING:
    from theanine_bench.metrics.intervals import Interval
    from theanine_bench.tasks.retrieval_items import Item, Run


def retrieval_page(run: Run, other: Run | None = None) -> str:
    """The whole page as one HTML text that reaches for nothing outside itself.

    With ``other``, both runs over the questions that they have in common. Raises BadInput where
    there is none.
    """
    runs, left = ([run], 0) if other is None else _common(run, other)
    names, title = list(run.items[0].measures), Path(run.data).name
    theirs = {item.id: item for one in runs[1:] for item in one.items}
    data = {
        "title": title,
        "command": run.command,
        "names": names,
        "runs": [_run(one, label) for one, label in zip(runs, _labels(runs), strict=True)],
        "compared": list(map(asdict, compare_paired(runs[0].items, theirs.values()))),
        "left": left,
        "sameData": all(one.sha256 == run.sha256 for one in runs),
        "parts": {part: list(map(asdict, rows)) for part, rows in run.ablations.items()},
        "items": [_item(item, theirs.get(item.id), names) for item in runs[0].items],
    }
    return render_page("retrieval.html", title=title, data=data, scripts=["retrieval.js"])


def _common(run: Run, other: Run) -> tuple[list[Run], int]:
    """Both over their common questions, and how many questions only one of them has."""
    ids = {item.id for item in run.items} & {item.id for item in other.items}
    if not ids:
        raise BadInput("the two runs have no question in common: they can't be drawn together")
    runs = [
        replace(one, items=[item for item in one.items if item.id in ids]) for one in (run, other)
    ]
    return runs, len(run.items) + len(other.items) - 2 * len(ids)


def _labels(runs: Sequence[Run]) -> list[str]:
    """What the runs are called: what they rank and how, as far as that tells them apart."""
    each = [
        [
            one.unit,
            one.retrieval,
            f"reranked by {one.reranker}" if one.reranker else "",
            *(f"{name}={value}" for name, value in one.settings.items()),
        ]
        for one in runs
    ]
    labels = [", ".join(filter(None, parts)) for parts in each]
    return ["this run", "that run"] if len(set(labels)) < len(labels) else labels


def _run(run: Run, label: str) -> dict[str, Any]:
    return {
        "name": label,
        "about": _about(run),
        "questions": len(run.items),
        "p50": run.seconds(0.5),
        "p95": run.seconds(0.95),
        "remembered": run.remember_seconds,
        "index": run.index_bytes,
        "dropped": run.dropped,
        "measures": _intervals(run.measures()),
        "categories": {name: _intervals(run.measures(name)) for name in run.categories},
    }


def _about(run: Run) -> list[tuple[str, str]]:
    """What was run, as names and values for people."""
    return [
        ("Unit", run.unit),
        ("Retriever", run.retrieval),
        ("Embedder", run.embedder),
        ("Reranker", run.reranker),
        ("Settings", ", ".join(f"{name}={value}" for name, value in run.settings.items())),
        ("Conversations", f"{run.conversations:,}"),
        ("Turns", f"{run.turns:,}"),
        ("Data, SHA-256", run.sha256[:16]),
        ("Seed of the intervals", "0"),
        ("theanine", run.version),
    ]


def _intervals(found: Mapping[str, Interval]) -> dict[str, dict[str, float]]:
    return {name: asdict(one) for name, one in found.items()}


def _item(item: Item, other: Item | None, names: Sequence[str]) -> dict[str, Any]:
    """A question. Its measures are in the order of ``names``; None is one that was not taken."""
    ranks = {(one.speaker, one.text): one.rank for one in other.evidence} if other else {}
    return {
        "id": item.id,
        "category": item.category,
        "asked": item.asked,
        "evidence": [
            (one.speaker, one.text, one.rank, ranks.get((one.speaker, one.text)))
            for one in item.evidence
        ],
        "measures": [item.measures.get(name) for name in names],
        "other": None if other is None else [other.measures.get(name) for name in names],
        "seconds": item.seconds,
    }
