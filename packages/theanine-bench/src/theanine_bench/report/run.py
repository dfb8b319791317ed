"""The page of a run: settings, metrics, cost, failures and every result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from theanine.types import LOCAL_MODEL
from theanine_bench.analysis.diff import less_is_better
from theanine_bench.config import NO_METHOD
from theanine_bench.report.page import render_page
from theanine_bench.report.run_items import SharedRows
from theanine_bench.samples import sort_names
from theanine_bench.tasks.export import own_table

if TYPE_CHECKING:
    from theanine_bench.runs.saved_run import SavedRun
    from theanine_bench.samples import SampleResult


def run_page(run: SavedRun) -> str:
    """Return the page as one HTML text."""
    summary, rows = run.summary, SharedRows(run.undated)
    copied = (
        *("done", "stopped", "unanswered", "categories"),
        *("corpus", "spent", "seconds", "failures", "dropped"),
    )
    data = {
        **{name: summary[name] for name in copied},
        "title": run.name,
        "about": about(run.settings),
        "command": run.command,
        "finished": run.finished,
        "hasTarget": run.settings["config"]["method"] != NO_METHOD,
        "total": summary["samples"],
        "metrics": summary["metrics"],
        "table": asdict(table) if (table := own_table(run)) else None,
        "recalledTokens": summary["recalled_tokens"],
        "names": sort_names(summary["metrics"], run.settings["metrics"]),
        "lowerIsBetter": [name for name in summary["metrics"] if less_is_better(name)],
        "items": [_item(result, run.seconds.get(id), rows) for id, result in run.results.items()],
        **rows.record(),
    }
    return render_page("run.html", title=run.name, data=data, scripts=["run.js"])


def about(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a run's settings as names and values, always the same names."""
    config = settings["config"]
    has_target = config["method"] != NO_METHOD
    methods = [one["label"] for one in config["settings"].get("methods", ())]
    shown = {**config["settings"], **({"methods": " ".join(methods)} if methods else {})}
    own = ", ".join(f"{name}={value}" for name, value in shown.items())
    model = _model(config["model"], config["base_url"], "none: local versions")
    model += _settings(config.get("model_settings"))
    judge = _model(config["judge"], config["judge_base_url"], "none")
    judge += _settings(config.get("judge_settings"))
    memory = ""
    if (remembering := settings["models"].get("memory")) or config.get("memory_model"):
        name = remembering["name"] if remembering else LOCAL_MODEL
        memory = _model(name, config.get("memory_base_url") or "", "none: local versions")
        memory += _settings(config.get("memory_settings"))
    return [
        ("Bench", settings["bench"]),
        ("Method", config["method"] if has_target else ""),
        ("Settings", own),
        ("Model", model if has_target else ""),
        ("Model for remembering", memory),
        ("Judge", judge),
        ("Embedder", config["embedder"] if has_target else ""),
        ("Tokens of a recollection", "" if config["budget"] is None else f"{config['budget']:,}"),
        ("Seed", str(config["seed"])),
        ("Data, SHA-256", settings["data"][:16]),
        ("theanine", settings["theanine"]),
    ]


def _model(name: str, base_url: str | None, none: str) -> str:
    if name == LOCAL_MODEL and not base_url:
        return none
    return f"{name} at {base_url}" if base_url else name


def _settings(settings: Mapping[str, Any] | None) -> str:
    own = ", ".join(f"{name}={value}" for name, value in (settings or {}).items())
    return f" ({own})" if own else ""


def _item(result: SampleResult, seconds: float | None, rows: SharedRows) -> dict[str, Any]:
    extra = {name: value for name, value in result.extra.items() if value not in (None, "", [], {})}
    return {
        "id": result.id,
        "group": result.group,
        "category": result.category,
        "question": result.question,
        "dialogue": rows.dialogue(result),
        "reference": result.reference,
        "answer": result.answer,
        "rationale": result.rationale,
        "madeBy": result.made_by,
        "recalled": rows.recalled(result),
        "tokens": result.recalled_tokens,
        "seconds": seconds,
        "scores": result.scores,
        "verdicts": result.verdicts,
        "failures": result.failures or None,
        "extra": extra or None,
    }
