"""Libraries that only measuring needs, imported when they are."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from theanine.embeddings.on_device import require

EXTRA = "eval"


def library(module: str, purpose: str, extra: str = EXTRA) -> Any:
    """The module, which is an optional part; raises MissingExtra where it isn't installed."""
    require(module.partition(".")[0], extra, purpose)
    return import_module(module)
