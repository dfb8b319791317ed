"""A memory for conversational agents: hear, remember, link, recall, reply."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from theanine.client.client import AsyncClient, AsyncLiveSession, ImportReport
    from theanine.client.factory import aopen, open
    from theanine.client.sync import Client, LiveSession
    from theanine.errors import ModelError, RememberingFailed, TheanineError, UserError
    from theanine.llm.limits import Limits
    from theanine.methods.base import Estimate, Reply
    from theanine.methods.theanine.config import TheanineConfig
    from theanine.remembering.remember import RememberReport
    from theanine.types import (
        History,
        Link,
        Mark,
        Memory,
        Part,
        Recollection,
        Relation,
        Scope,
        Session,
        Timeline,
        Transcript,
        Turn,
        Utterance,
    )

__version__ = "0.2.0.dev0"

__all__ = [
    "AsyncClient",
    "AsyncLiveSession",
    "Client",
    "Estimate",
    "History",
    "ImportReport",
    "Limits",
    "Link",
    "LiveSession",
    "Mark",
    "Memory",
    "ModelError",
    "Part",
    "Recollection",
    "Relation",
    "RememberReport",
    "RememberingFailed",
    "Reply",
    "Scope",
    "Session",
    "TheanineConfig",
    "TheanineError",
    "Timeline",
    "Transcript",
    "Turn",
    "UserError",
    "Utterance",
    "__version__",
    "aopen",
    "open",
]

_HOMES = {
    "client.client": ("AsyncClient", "AsyncLiveSession", "ImportReport"),
    "client.factory": ("aopen", "open"),
    "client.sync": ("Client", "LiveSession"),
    "errors": ("ModelError", "RememberingFailed", "TheanineError", "UserError"),
    "llm.limits": ("Limits",),
    "methods.base": ("Estimate", "Reply"),
    "methods.theanine.config": ("TheanineConfig",),
    "remembering.remember": ("RememberReport",),
    "types": (
        "History",
        "Link",
        "Mark",
        "Memory",
        "Part",
        "Recollection",
        "Relation",
        "Scope",
        "Session",
        "Timeline",
        "Transcript",
        "Turn",
        "Utterance",
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    # Loaded when first used: `import theanine` alone must cost next to nothing.
    if name in _HOME:
        return getattr(import_module(f"theanine.{_HOME[name]}"), name)
    raise AttributeError(f"module 'theanine' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
