"""The page of a comparison of methods: what each recalls for each question, and its costs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from theanine.text.words import format_date
from theanine_bench.metrics.evidence import EVIDENCE
from theanine_bench.report.page import render_page
from theanine_bench.samples import ANSWER
from theanine_bench.tasks.compare import method_results, unknown_sources

if TYPE_CHECKING:
    from theanine.types import Usage
    from theanine_bench.runs.saved_run import SavedRun
    from theanine_bench.samples import SampleResult
    from theanine_bench.tasks.compare import MethodResults


def compare_page(run: SavedRun) -> str:
    """Return the page as one HTML text that makes no requests."""
    methods = method_results(run)
    numbers = sorted({number for method in methods for number in method.results})
    first = max(methods, key=lambda method: method.turns)
    data = {
        "title": run.name,
        "utterance_count": first.turns,
        "sessions": first.sessions,
        "log": first.log,
        "unknown": unknown_sources(run),
        "columns": list(map(_column, methods)),
        "questions": [
            _question([method.results.get(number) for method in methods], run.seconds)
            for number in numbers
        ],
        "turns": _turns(run.results.values(), run.undated),
    }
    return render_page("compare.html", title=run.name, data=data, scripts=["compare.js"])


def _column(method: MethodResults) -> dict[str, Any]:
    return {
        "label": method.label,
        "method": method.method,
        "settings": {name: str(value) for name, value in method.settings.items()},
        "model": method.model,
        "memories": method.memories,
        "links": method.links,
        "failures": dict(method.failures),
        "rememberSeconds": method.remember_seconds,
        "recallSeconds": method.recall_seconds,
        "remembering": _usage(method.remembering),
        "recalling": _usage(method.recalling),
        "tokens": method.tokens,
        "found": method.evidence,
        "precision": method.precision,
        "disk": method.disk,
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "calls": usage.calls,
        "failed": usage.failed,
        "in": usage.input_tokens,
        "out": usage.output_tokens,
        "cost": usage.cost,
    }


def _question(
    results: Sequence[SampleResult | None], seconds: Mapping[str, float]
) -> dict[str, Any]:
    first = next(result for result in results if result)
    outputs = [result.output for result in results if result and result.output]
    return {
        "user": first.extra["user"],
        "text": first.question,
        "answer": first.reference,
        "category": first.extra["category"],
        "gold": [turn["turn"] for turn in (outputs[0]["gold"] if outputs else ())],
        "answers": [_answer(result, seconds) for result in results],
    }


def _answer(result: SampleResult | None, seconds: Mapping[str, float]) -> dict[str, Any] | None:
    if result is None:
        return None
    return {
        "pieces": [
            {
                "text": part["text"],
                "turns": [source["turn"] for source in part["sources"]],
                "by": made_by,
            }
            for part, made_by in zip(result.recalled, result.output.get("made_by", ()), strict=True)
        ],
        "tokens": result.recalled_tokens,
        "seconds": seconds.get(result.id),
        "found": result.scores.get(EVIDENCE),
        "failure": result.failures.get(ANSWER),
    }


def _turns(
    results: Iterable[SampleResult], undated: Mapping[str, frozenset[int]]
) -> dict[str, dict[int, dict[str, str]]]:
    """Return the recalled and gold turns by user and id; every store logs them alike."""
    turns: defaultdict[str, dict[int, dict[str, str]]] = defaultdict(dict)
    for result in results:
        recalled = [source for part in result.recalled for source in part["sources"]]
        for turn in (*recalled, *result.output.get("gold", ())):
            dated = turn["session"] not in undated.get(result.group, ())
            turns[result.extra["user"]][turn["turn"]] = {
                "speaker": turn["speaker"],
                "when": format_date(datetime.fromisoformat(turn["at"])) if dated else "",
                "words": turn["text"],
            }
    return turns
