"""A memory for conversational agents: hear, remember, link, recall, reply."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from theanine.agent import AsyncAgent, AsyncTalk, Imported
    from theanine.conversation import History, Scope, Session, Transcript, Turn, Utterance
    from theanine.errors import ModelError, RememberingFailed, TheanineError, UserError
    from theanine.memory import Link, Mark, Memory, Part, Recollection, Relation, Timeline
    from theanine.methods.base import Estimate, Reply
    from theanine.methods.theanine.config import TheanineConfig
    from theanine.models.limits import Limits
    from theanine.opening import aopen, open
    from theanine.remembering import RememberReport
    from theanine.sync import Agent, Talk

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AsyncAgent",
    "AsyncTalk",
    "Estimate",
    "History",
    "Imported",
    "Limits",
    "Link",
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
    "Talk",
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
    "agent": ("AsyncAgent", "AsyncTalk", "Imported"),
    "conversation": ("History", "Scope", "Session", "Transcript", "Turn", "Utterance"),
    "errors": ("ModelError", "RememberingFailed", "TheanineError", "UserError"),
    "memory": ("Link", "Mark", "Memory", "Part", "Recollection", "Relation", "Timeline"),
    "methods.base": ("Estimate", "Reply"),
    "methods.theanine.config": ("TheanineConfig",),
    "models.limits": ("Limits",),
    "opening": ("aopen", "open"),
    "remembering": ("RememberReport",),
    "sync": ("Agent", "Talk"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    # Loaded when first used: `import theanine` alone must cost next to nothing.
    if name in _HOME:
        return getattr(import_module(f"theanine.{_HOME[name]}"), name)
    raise AttributeError(f"module 'theanine' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
