"""The page of a run: what was run, what came of it, what it took, and every item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from theanine.types import LOCAL_MODEL
from theanine_bench.analysis.diff import less_is_better
from theanine_bench.config import NO_METHOD
from theanine_bench.report.page import render_page
from theanine_bench.report.run_items import Packed
from theanine_bench.samples import sort_names

if TYPE_CHECKING:
    from theanine_bench.runs.saved_run import SavedRun
    from theanine_bench.samples import SampleResult


def run_page(run: SavedRun) -> str:
    """The whole page as one HTML text that reaches for nothing outside itself."""
    summary, packed = run.summary, Packed(run.undated)
    items = [_item(item, run.seconds.get(id), packed) for id, item in run.results.items()]
    data = {
        "title": run.name,
        "about": about(run.settings),
        "command": run.command,
        "finished": run.finished,
        "asks": run.settings["config"]["method"] != NO_METHOD,
        "cases": summary["samples"],
        "measures": summary["metrics"],
        **{name: summary[name] for name in ("done", "stopped", "unanswered")},
        **{name: summary[name] for name in ("categories", "corpus", "spent")},
        **{name: summary[name] for name in ("seconds", "failures", "dropped")},
        "recalled": summary["recalled_tokens"],
        "names": sort_names(summary["metrics"], run.settings["metrics"]),
        "less": [name for name in summary["metrics"] if less_is_better(name)],
        "items": items,
        **packed.rows(),
    }
    return render_page("run.html", title=run.name, data=data, scripts=["run.js"])


def about(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a run was begun with, as names and values for people."""
    setup = settings["config"]
    own = ", ".join(f"{name}={value}" for name, value in setup["settings"].items())
    asks = setup["method"] != NO_METHOD
    return [
        ("Bench", settings["bench"]),
        ("Method", setup["method"] if asks else ""),
        ("Settings", own),
        ("Model", _model(setup["model"], setup["base_url"]) if asks else ""),
        ("Judge", _model(setup["judge"], setup["judge_base_url"], "none")),
        ("Embedder", setup["embedder"] if asks else ""),
        ("Tokens of a recollection", "" if setup["budget"] is None else f"{setup['budget']:,}"),
        ("Seed", str(setup["seed"])),
        ("Data, SHA-256", settings["data"][:16]),
        ("theanine", settings["theanine"]),
    ]


def _model(name: str, base_url: str | None, none: str = "none: local versions") -> str:
    if name == LOCAL_MODEL and not base_url:
        return none
    return f"{name} at {base_url}" if base_url else name


def _item(item: SampleResult, seconds: float | None, packed: Packed) -> dict[str, Any]:
    extra = {name: value for name, value in item.extra.items() if value not in (None, "", [], {})}
    return {
        "id": item.id,
        "group": item.group,
        "category": item.category,
        "asked": item.question,
        "dialogue": packed.dialogue(item),
        "reference": item.reference,
        "answer": item.answer,
        "rationale": item.rationale,
        "by": item.made_by,
        "recalled": packed.recalled(item),
        "tokens": item.recalled_tokens,
        "seconds": seconds,
        "measures": item.scores,
        "verdicts": item.verdicts,
        "failures": item.failures or None,
        "extra": extra or None,
    }
