"""Reader of the files that runs of theanine 0.1 wrote: maps their keys to today's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SETTINGS = {
    "cases": "samples",
    "asked": "sample_hash",
    "measures": "metrics",
    "setup": "config",
}
_SUMMARY = {"cases": "samples", "measures": "metrics"}
_RESULT = {"asked": "question", "measures": "scores"}


def upgrade_settings(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``settings.json`` with today's keys."""
    return _rename(record, _SETTINGS)


def upgrade_summary(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``summary.json`` with today's keys."""
    return _rename(record, _SUMMARY)


def upgrade_result(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line of ``items.jsonl`` with today's keys."""
    return _rename(record, _RESULT)


def _rename(record: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in record.items()}
