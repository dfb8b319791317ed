"""Lifelong memory for conversational agents.

::

    with theanine.open("memory.db") as client:
        ana = client.user("ana")
        ana.add("I'm terrified of ships since the storm.")
        print(ana.recall("Shall we book that cruise?").text)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from theanine.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from theanine.client import (
        AddReport,
        AsyncClient,
        AsyncLiveSession,
        AsyncReplyStream,
        AsyncUserMemory,
        AsyncWorker,
        Client,
        Explanation,
        ImportReport,
        LiveSession,
        OpenOptions,
        Remembering,
        ReplyStream,
        UserMemory,
        Worker,
        aopen,
        open,
    )
    from theanine.client.copying import acopy_store, copy_store
    from theanine.errors import (
        ModelError,
        RememberingFailed,
        StoreUnavailable,
        TheanineError,
        UserError,
        WriteUnconfirmed,
    )
    from theanine.llm.base import ToolCall
    from theanine.llm.limits import Limits
    from theanine.llm.settings import ModelSettings
    from theanine.methods.base import Estimate, Reply
    from theanine.methods.theanine.config import TheanineConfig, TheaninePaperConfig
    from theanine.profile import Profile
    from theanine.remembering import RebuildEstimate, RebuildReport, RememberReport
    from theanine.remote import aconnect, connect
    from theanine.store.copy import CopyReport
    from theanine.store.values import ForgetReport, UserSettings
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
    "AddReport",
    "AsyncClient",
    "AsyncLiveSession",
    "AsyncReplyStream",
    "AsyncUserMemory",
    "AsyncWorker",
    "Client",
    "CopyReport",
    "Estimate",
    "Explanation",
    "ForgetReport",
    "History",
    "ImportReport",
    "Limits",
    "Link",
    "LiveSession",
    "Mark",
    "Memory",
    "ModelError",
    "ModelSettings",
    "OpenOptions",
    "Part",
    "Profile",
    "RebuildEstimate",
    "RebuildReport",
    "Recollection",
    "Relation",
    "RememberReport",
    "Remembering",
    "RememberingFailed",
    "Reply",
    "ReplyStream",
    "Scope",
    "Session",
    "StoreUnavailable",
    "TheanineConfig",
    "TheanineError",
    "TheaninePaperConfig",
    "Timeline",
    "ToolCall",
    "Transcript",
    "Turn",
    "UserError",
    "UserMemory",
    "UserSettings",
    "Utterance",
    "Worker",
    "WriteUnconfirmed",
    "__version__",
    "aconnect",
    "acopy_store",
    "aopen",
    "connect",
    "copy_store",
    "open",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "client": "AddReport AsyncClient AsyncLiveSession AsyncReplyStream AsyncUserMemory "
        "AsyncWorker Client Explanation ImportReport LiveSession OpenOptions Remembering "
        "ReplyStream UserMemory Worker aopen open",
        "client.copying": "acopy_store copy_store",
        "errors": "ModelError RememberingFailed StoreUnavailable TheanineError UserError "
        "WriteUnconfirmed",
        "llm.base": "ToolCall",
        "llm.limits": "Limits",
        "llm.settings": "ModelSettings",
        "methods.base": "Estimate Reply",
        "methods.theanine.config": "TheanineConfig TheaninePaperConfig",
        "profile": "Profile",
        "remote": "aconnect connect",
        "remembering": "RebuildEstimate RebuildReport RememberReport",
        "store.copy": "CopyReport",
        "store.values": "ForgetReport UserSettings",
        "types": "History Link Mark Memory Part Recollection Relation Scope Session Timeline "
        "Transcript Turn Utterance",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"annotations", "lazy_exports", "TYPE_CHECKING"})
