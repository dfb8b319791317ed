"""The page of runs compared: quality and cost of each run, and every common sample."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from theanine_bench.analysis.diff import less_is_better
from theanine_bench.report.page import render_page
from theanine_bench.report.run import about
from theanine_bench.report.run_items import SharedRows

if TYPE_CHECKING:
    from theanine_bench.analysis.diff import ComparedSample, Diff


def diff_page(diff: Diff) -> str:
    """Return the page as one HTML text."""
    rows = SharedRows({user: ids for run in diff.runs for user, ids in run.undated.items()})
    record = diff.record()
    data = {
        "runs": record["runs"],
        "settings": _settings(diff),
        "leftOut": record["left_out"],
        "warnings": record["warnings"],
        "names": list(diff.means),
        "failing": record["failing"],
        "corpus": record["corpus"],
        "lowerIsBetter": [name for name in diff.means if less_is_better(name)],
        "means": {name: list(map(asdict, means)) for name, means in diff.means.items()},
        "comparisons": [
            {paired.measure: {"difference": paired.difference, "p": paired.p} for paired in run}
            for run in diff.comparisons
        ],
        "categories": {
            category: {name: list(map(asdict, means)) for name, means in by_metric.items()}
            for category, by_metric in diff.categories().items()
        },
        "samples": [_sample(sample, rows) for sample in diff.samples],
        **rows.record(),
    }
    title = ", ".join(run.name for run in diff.runs)
    return render_page("diff.html", title=title, data=data, scripts=["diff.js"])


def _settings(diff: Diff) -> list[tuple[str, list[str]]]:
    """Return the settings that any run has, each with a value per run."""
    by_run = [about(run.settings) for run in diff.runs]
    rows = [(same[0][0], [value for _, value in same]) for same in zip(*by_run, strict=True)]
    return [(name, values) for name, values in rows if any(values)]


def _sample(sample: ComparedSample, rows: SharedRows) -> dict[str, Any]:
    first = sample.results[0]
    return {
        "id": sample.id,
        "group": first.group,
        "category": first.category,
        "question": first.question,
        "reference": first.reference,
        "dialogue": rows.dialogue(first),
        "runs": [
            {
                "answer": result.answer,
                "scores": result.scores,
                "failures": result.failures or None,
                "tokens": result.recalled_tokens,
                "recalled": rows.recalled(result),
            }
            for result in sample.results
        ],
    }
