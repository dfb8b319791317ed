"""The state that all requests of one process share."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Annotated

import anyio
from fastapi import Depends, Request

from theanine.client import AsyncClient
from theanine.client.redaction import redaction
from theanine.clock import Clock
from theanine.errors import EmbedderMismatch
from theanine.store.sql.audit import Pseudonyms
from theanine.store.sql.store import SqlStore
from theanine_server.audit import AuditLog
from theanine_server.browsers import OwnBrowser
from theanine_server.graphs import GraphCache
from theanine_server.idempotency import Claims
from theanine_server.keys import KeyCache
from theanine_server.limits import Rates
from theanine_server.operation_runner import OperationRunner
from theanine_server.proxy.memory import ProxyMemory
from theanine_server.proxy.upstream import Upstream
from theanine_server.settings import ServerOptions
from theanine_server.spending import Spending
from theanine_server.webhooks.deliverer import Deliverer

_log = logging.getLogger(__name__)

for _module in ("theanine.client.recalling", "theanine.remembering.remember"):
    import_module(_module)  # now, so that the first requests need not wait for it

POLL = 1.0
"""Seconds between searches for sessions that have ended."""


class ServerState:
    """The open client and its store, and what this process knows of keys and their rates.

    Attributes:
        stopping: whether the process is about to end, and no longer ready for requests.
        stopped: is set then, so that endless streams end.
    """

    def __init__(
        self,
        options: ServerOptions,
        client: AsyncClient,
        store: SqlStore,
        pseudonyms: Pseudonyms,
    ) -> None:
        self.options, self.client, self.store = options, client, store
        self.clock: Clock = options.client.clock
        self.keys, self.rates = KeyCache(), Rates()
        self.graphs = GraphCache(store, self.clock)
        self.own_browser = None if options.link is None else OwnBrowser(options.link)
        self.claims = Claims(store, redaction(options.client.redact))
        self.operations = OperationRunner(options.client, client, store, self.clock)
        self.deliverer = Deliverer(store, options.webhook_guard)
        self.spending = Spending(store, options.max_replies, self.clock)
        self.upstream = Upstream(options.openai_url, options.anthropic_url)
        self.proxy_memory = ProxyMemory(store, self.clock, options.memory_deadline)
        self.pseudonyms = pseudonyms
        self.audit = AuditLog(store, self.clock, options.audit, pseudonyms)
        self.stopping = False
        self.stopped = anyio.Event()
        self._worker = client.worker(poll=POLL, grace=options.grace)

    async def remember(self) -> None:
        """Remember ended sessions in the background until :meth:`stop`, if the options say so."""
        if self.options.client.remembering != "background":
            return
        try:
            await self._worker.run()
        except EmbedderMismatch as error:
            _log.error("nothing is remembered: %s", error)

    def stop(self) -> None:
        """Report this process as not ready, and leave long work to other processes."""
        self.stopping = True
        self.stopped.set()
        self.operations.stop()
        self.deliverer.stop()
        self._worker.stop()

    async def close(self) -> None:
        """Log replies that are still waiting, and close all connections to providers."""
        self.stop()
        await self.proxy_memory.close()
        await self.upstream.http.aclose()
        self.claims.stop()
        await self.audit.close()


async def _get_state(request: Request) -> ServerState:
    return request.app.state.server


State = Annotated[ServerState, Depends(_get_state)]
"""What the requests of this process share, as a parameter of a route."""
