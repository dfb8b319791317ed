"""What the requests of one process share."""

from __future__ import annotations

from theanine.client import AsyncClient
from theanine.clock import Clock
from theanine.server.keys import KeyCache
from theanine.server.limits import Rates
from theanine.server.operations import OperationRunner
from theanine.server.proxy.memory import ProxyMemory
from theanine.server.proxy.upstream import Upstream
from theanine.server.settings import ServerOptions
from theanine.store.sql.store import SqlStore


class ServerState:
    """The open client and its store, and what this process knows of keys and their rates."""

    def __init__(self, options: ServerOptions, client: AsyncClient, store: SqlStore) -> None:
        self.options, self.client, self.store = options, client, store
        self.clock: Clock = options.client.clock
        self.keys, self.rates = KeyCache(), Rates()
        self.operations = OperationRunner(client, store, self.clock)
        self.upstream = Upstream(options.openai_url, options.anthropic_url)
        self.proxy_memory = ProxyMemory(self.clock, options.memory_deadline)

    async def close(self) -> None:
        """Log the last replies, and close all connections to providers."""
        await self.proxy_memory.close()
        await self.upstream.http.aclose()
