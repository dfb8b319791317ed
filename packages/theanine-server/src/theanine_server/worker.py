"""Metrics and webhooks of ``theanine worker``, which finds them by entry points."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from theanine import Client, Worker
from theanine.store import open_store
from theanine.store.sql.store import SqlStore
from theanine.telemetry import add_listener
from theanine_server import metrics
from theanine_server.webhooks.deliverer import Deliverer
from theanine_server.webhooks.guard import Guard


def serve_metrics(running: Worker, host: str, port: int) -> tuple[int, Callable[[str], None]]:
    """Serve metrics and the probes /health and /ready of a worker from a thread.

    Returns the port, and what counts a session by its result. Raises SettingsError if the port
    can't be used.
    """
    add_listener(metrics.record_operation)
    probes: dict[str, Callable[[], str]] = {
        "/health": lambda: "" if running.responds() else "no answer",
        "/ready": lambda: running.problem,
    }
    port = metrics.serve_metrics(host, port, probes)
    return port, lambda result: metrics.SESSIONS.labels(result).inc()


@contextmanager
def deliver(
    client: Client, location: str, allowed: Sequence[str], *, once: bool
) -> Generator[None]:
    """Send what waits for webhooks during the block or, with ``once``, after it.

    Args:
        client: its event loop sends.
        location: the store.
        allowed: networks that webhooks may be in though they are internal.
        once: send what is due, and no more.

    Raises SettingsError for a malformed network.
    """
    guard, store = Guard(allowed), open_store(location)
    assert isinstance(store, SqlStore)
    portal = client.portal
    portal.call(store.open)
    deliverer = Deliverer(store, guard)
    try:
        if once:
            yield
            portal.call(deliverer.run, True)
        else:
            sending = portal.start_task_soon(deliverer.run)
            try:
                yield
            except BaseException:
                sending.cancel()
                raise
            portal.call(deliverer.stop)
            sending.result()
    finally:
        portal.call(store.close)
