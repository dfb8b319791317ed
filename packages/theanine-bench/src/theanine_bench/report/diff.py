"""The page of runs held against each other: quality beside cost, and case by case."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from theanine_bench.analysis.diff import less_is_better
from theanine_bench.report.page import render_page
from theanine_bench.report.run import about
from theanine_bench.report.run_items import Packed

if TYPE_CHECKING:
    from theanine_bench.analysis.diff import ComparedSample, Diff
    from theanine_bench.samples import SampleResult


def diff_page(found: Diff) -> str:
    """The whole page as one HTML text that reaches for nothing outside itself."""
    undated = {user: one for run in found.runs for user, one in run.undated.items()}
    packed = Packed(undated)
    told = found.record()
    data = {
        "runs": told["runs"],
        "settings": _settings(found),
        "left": told["left_out"],
        "warnings": told["warnings"],
        "names": list(found.means),
        "failing": told["failing"],
        "corpus": told["corpus"],
        "less": [name for name in found.means if less_is_better(name)],
        "means": {name: list(map(asdict, means)) for name, means in found.means.items()},
        "against": [
            {one.measure: {"difference": one.difference.mean, "p": one.p} for one in comparison}
            for comparison in found.comparisons
        ],
        "categories": {
            category: {name: list(map(asdict, means)) for name, means in of.items()}
            for category, of in found.categories().items()
        },
        "cases": [_case(case, packed) for case in found.samples],
        **packed.rows(),
    }
    title = ", ".join(run.name for run in found.runs)
    return render_page("diff.html", title=title, data=data, scripts=["diff.js"])


def _settings(found: Diff) -> list[tuple[str, list[str]]]:
    """Rows of what the runs were begun with, a value each; what none has is left out."""
    rows = [about(run.settings) for run in found.runs]
    names = [name for name, _ in rows[0]]
    values = [(name, [dict(row)[name] for row in rows]) for name in names]
    return [(name, each) for name, each in values if any(each)]


def _case(case: ComparedSample, packed: Packed) -> dict[str, Any]:
    first = case.results[0]
    return {
        "id": case.id,
        "group": first.group,
        "category": first.category,
        "asked": first.question,
        "reference": first.reference,
        "dialogue": packed.dialogue(first),
        "runs": [_answered(item, packed) for item in case.results],
    }


def _answered(item: SampleResult, packed: Packed) -> dict[str, Any]:
    return {
        "answer": item.answer,
        "measures": item.scores,
        "failures": item.failures or None,
        "tokens": item.recalled_tokens,
        "recalled": packed.recalled(item),
    }
