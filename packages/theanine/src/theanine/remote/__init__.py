"""The client of a service: the same face as that of a store, over HTTP.

::

    with theanine.connect("https://memory.example", key=KEY) as client:
        print(client.user("ana").recall("What may she eat?").text)
"""

from __future__ import annotations

from theanine.client import Client
from theanine.remote.client import AsyncRemoteClient
from theanine.remote.transport import TIMEOUT


def connect(url: str, *, key: str = "", timeout: float = TIMEOUT) -> Client:
    """Return a client of a service; use it as a context manager or ``close()`` it.

    Args:
        url: the address of ``theanine serve``.
        key: a key of ``theanine keys create``; empty for a service without keys.
        timeout: seconds that one request may take; what remembers may take longer.

    What needs the whole store, such as ``restore`` and ``reembed``, is for the command line where
    the service runs. Raises UserError for a key that is not valid, when it is first used.
    """
    return Client(AsyncRemoteClient(url, key=key, timeout=timeout))  # pyright: ignore[reportArgumentType]  # it has the same face


def aconnect(url: str, *, key: str = "", timeout: float = TIMEOUT) -> AsyncRemoteClient:
    """Return a client of a service, to be entered with ``async with``; see :func:`connect`."""
    return AsyncRemoteClient(url, key=key, timeout=timeout)
