"""The client: open a store, and hear, recall, remember and forget for each of its users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theanine.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from theanine.client.background import Remembering
    from theanine.client.client import AsyncClient, aopen
    from theanine.client.explaining import Explanation
    from theanine.client.options import OpenOptions
    from theanine.client.session import AddReport, AsyncLiveSession
    from theanine.client.streaming import AsyncReplyStream
    from theanine.client.sync import Client, LiveSession, ReplyStream, UserMemory, Worker, open
    from theanine.client.user import AsyncUserMemory, ImportReport
    from theanine.client.worker import AsyncWorker

__all__ = [
    "AddReport",
    "AsyncClient",
    "AsyncLiveSession",
    "AsyncReplyStream",
    "AsyncUserMemory",
    "AsyncWorker",
    "Client",
    "Explanation",
    "ImportReport",
    "LiveSession",
    "OpenOptions",
    "Remembering",
    "ReplyStream",
    "UserMemory",
    "Worker",
    "aopen",
    "open",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "background": "Remembering",
        "client": "AsyncClient aopen",
        "explaining": "Explanation",
        "options": "OpenOptions",
        "session": "AddReport AsyncLiveSession",
        "streaming": "AsyncReplyStream",
        "sync": "Client LiveSession ReplyStream UserMemory Worker open",
        "user": "AsyncUserMemory ImportReport",
        "worker": "AsyncWorker",
    },
)
