"""Deliver the messages of the outbox; processes share the work by leases."""

from __future__ import annotations

import logging
import time
from random import shuffle

import anyio
import httpx2
from anyio.abc import TaskGroup

from theanine.errors import StoreError
from theanine.store.processes import lease_holder
from theanine.store.sql.outbox import (
    HeldWebhook,
    Message,
    Outcome,
    clean,
    count_backlog,
    find_due,
    load_due,
    store_outcomes,
    take_webhook,
)
from theanine.store.sql.store import SqlStore
from theanine_server.webhooks.guard import Guard
from theanine_server.webhooks.metrics import count_try, show_backlog
from theanine_server.webhooks.sender import Sender

_log = logging.getLogger("theanine_server.webhooks")

POLL = 1.0
"""Seconds between checks of the outbox."""
WEBHOOKS_AT_ONCE = 32
"""Maximum webhooks that one process sends to at once."""
BATCH = 16
"""Maximum messages that are sent to one webhook at once."""
_COUNTING = 5.0  # seconds between counts of what waits, for metrics
_CLEANING = 600.0


class Deliverer:
    """Sends the waiting messages of a store until it is stopped.

    If a process is killed after it has sent a message and before it has stored that, another one
    sends it again, under the same id.
    """

    def __init__(self, store: SqlStore, guard: Guard) -> None:
        self._store, self._sender = store, Sender(guard)
        self._active = set[str]()
        self._wake = anyio.Event()
        self._stopping = False
        self._counted, self._cleaned = -_COUNTING, -_CLEANING

    def wake(self) -> None:
        """Check the outbox at once."""
        self._wake.set()

    def stop(self) -> None:
        """Have :meth:`run` return once the messages under way are answered."""
        self._stopping = True
        self._wake.set()

    async def run(self, once: bool = False) -> None:
        """Deliver until :meth:`stop` or, with ``once``, until nothing is due."""
        async with anyio.create_task_group() as tasks:
            while not self._stopping:
                try:
                    found = await self._send_due(tasks)
                    await self._count()
                    await self._clean()
                except StoreError as error:  # it may be back in a moment
                    _log.warning("webhooks wait: %s", error)
                    found = False
                if once and not found and not self._active:
                    return
                with anyio.move_on_after(POLL):
                    await self._wake.wait()
                self._wake = anyio.Event()

    async def _send_due(self, tasks: TaskGroup) -> bool:
        """Start sending to each webhook with messages to send; return whether there was any."""
        found = await self._store.read(find_due)
        shuffle(found)  # so that processes meet less often
        for webhook, taking in found:
            if webhook not in self._active and len(self._active) < WEBHOOKS_AT_ONCE:
                self._active.add(webhook)
                tasks.start_soon(self._deliver, webhook, taking)
        return bool(found)

    async def _deliver(self, webhook: str, taking: int) -> None:
        try:
            held = await self._store.write_concurrently(
                False, take_webhook, webhook, taking, lease_holder()
            )
            if held is not None:
                await self._send_all(held)
        except StoreError as error:  # the lease runs out
            _log.warning("webhook %s waits: %s", webhook, error)
        except Exception:  # noqa: BLE001  # of a library, by what a receiver sent: others go on
            _log.exception("webhook %s waits", webhook)
        finally:
            self._active.discard(webhook)
            self._wake.set()

    async def _send_all(self, held: HeldWebhook) -> None:
        """Send the waiting messages of a webhook, batch by batch, while that succeeds."""
        goes_on = True
        async with self._sender.connect() as http:
            while goes_on:
                outcomes = [] if self._stopping else await self._send_batch(http, held)
                goes_on = await self._store.write_concurrently(
                    False, store_outcomes, held, outcomes
                )

    async def _send_batch(self, http: httpx2.AsyncClient, held: HeldWebhook) -> list[Outcome]:
        outcomes = list[Outcome]()

        async def send(message: Message) -> None:
            outcome = await self._sender.send(http, held, message)
            outcomes.append(outcome)
            count_try(outcome)
            if outcome.error:
                _log.info("webhook %s: %s: %s", held.webhook, message.id, outcome.error)

        async with anyio.create_task_group() as batch:
            for message in await self._store.read(load_due, held.webhook, BATCH):
                batch.start_soon(send, message)
        return outcomes

    async def _count(self) -> None:
        if time.monotonic() - self._counted > _COUNTING:
            self._counted = time.monotonic()
            show_backlog(*await self._store.read(count_backlog))

    async def _clean(self) -> None:
        if time.monotonic() - self._cleaned > _CLEANING:
            self._cleaned = time.monotonic()
            await self._store.write(clean)
