"""The client: open a store, and hear, recall, remember and forget for each of its users."""

from theanine.client.client import AsyncClient, aopen
from theanine.client.options import OpenOptions
from theanine.client.session import AsyncLiveSession
from theanine.client.sync import Client, LiveSession, UserMemory, open
from theanine.client.user import AsyncUserMemory, ImportReport

__all__ = [
    "AsyncClient",
    "AsyncLiveSession",
    "AsyncUserMemory",
    "Client",
    "ImportReport",
    "LiveSession",
    "OpenOptions",
    "UserMemory",
    "aopen",
    "open",
]
