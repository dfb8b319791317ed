"""Libraries that only some metrics need, imported when a metric is computed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from theanine.errors import MissingExtra

EXTRA = "eval"


def library(module: str, purpose: str = "", extra: str = "") -> Any:
    """Import a library; raise MissingExtra if it belongs to an extra that is not installed."""
    if extra and find_spec(module.partition(".")[0]) is None:
        raise MissingExtra(extra, purpose, "theanine-bench")
    return import_module(module)
