"""Reader of the files that runs of theanine 0.1 wrote: maps their keys to today's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from theanine.errors import BadInput
from theanine_bench.config import RunConfig
from theanine_bench.files import read_lines

_SETTINGS = {
    "cases": "samples",
    "asked": "sample_hash",
    "measures": "metrics",
    "setup": "config",
}
_METHODS = {"turn": "exchange"}
_SUMMARY = {"cases": "samples", "measures": "metrics"}
_RESULT = {"asked": "question", "measures": "scores"}


def upgrade_settings(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``settings.json`` with today's keys and method ids."""
    settings = _rename(record, _SETTINGS)
    config = settings.get("config")
    if isinstance(config, dict) and "method" in config and "setup" in record:
        values = cast("dict[str, Any]", config)
        settings["config"] = {**values, "method": _METHODS.get(values["method"], values["method"])}
    return settings


def upgrade_summary(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``summary.json`` with today's keys."""
    return _rename(record, _SUMMARY)


def upgrade_result(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line of ``items.jsonl`` with today's keys."""
    return _rename(record, _RESULT)


def upgrade_retrieval_items(
    file: Path,
) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any], dict[str, Any]] | None:
    """Return settings, results, facts and ablations from a file of `bench retrieval --out`.

    None for a folder or nothing. Raises BadInput for any other file.
    """
    if not file.is_file():
        return None
    try:
        head, *items = [record for record, _ in read_lines(file)]
        config = RunConfig(
            settings={
                "unit": head["unit"],
                "retrieval": head["retrieval"],
                **({"reranker": head["reranker"]} if head["reranker"] else {}),
                **head["settings"],
            },
            embedder=head["embedder"],
        )
        settings = {
            "bench": "retrieval",
            "theanine": head["version"],
            "data": head["sha256"],
            "samples": len(items),
            "metrics": list(items[0]["measures"]),
            "config": asdict(config),
            "models": {"agent": None, "judge": None},
            "command": head["command"],
            "dropped": head["dropped"],
            "seconds": {item["id"]: item["seconds"] for item in items},
        }
        results = [
            {
                "id": item["id"],
                "group": "",
                "category": item["category"],
                "question": item["asked"],
                "answer": "",
                "output": {"evidence": item["evidence"]},
                "scores": item["measures"],
            }
            for item in items
        ]
        names = ("conversations", "turns", "index_bytes", "remember_seconds", "embedder")
        facts = {name: head[name] for name in (*names, "reranker")}
    except (BadInput, ValueError, TypeError, LookupError) as error:
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise BadInput(
            f"neither a run's folder nor a file of its results ({reason})", str(file)
        ) from None
    return settings, results, facts, head.get("ablations", {})


def _rename(record: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in record.items()}
