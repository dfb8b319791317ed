"""Libraries that only some metrics need, imported when a metric is computed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from theanine.errors import MissingExtra


def library(module: str) -> Any:
    """Import a dependency that takes long to import and has no types."""
    return import_module(module)


def require_extra(package: str, extra: str, purpose: str) -> None:
    """Raise MissingExtra if a package of an extra of theanine-bench is not installed."""
    if find_spec(package) is None:
        raise MissingExtra(extra, purpose, "theanine-bench")
