"""Metrics for Prometheus: no names of users, no words.

Several processes share them by files if ``PROMETHEUS_MULTIPROC_DIR`` names a folder before this is
imported.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    start_http_server,
)
from prometheus_client.multiprocess import MultiProcessCollector

from theanine import telemetry
from theanine.errors import SettingsError
from theanine.telemetry import Value

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.002, 0.005, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

REQUESTS = Histogram(
    "theanine_request_seconds",
    "Requests by route and status, until their answers have ended",
    ("method", "route", "status"),
    buckets=_SECONDS,
)
PROXIED = Counter(
    "theanine_proxied_requests",
    "Requests of the memory proxy, by what became of memory",
    ("memory",),
)
OPERATIONS = Histogram(
    "theanine_operation_seconds",
    "Operations on memories and calls of models",
    ("operation", "model", "error"),
    buckets=_SECONDS,
)
TOKENS = Counter("theanine_model_tokens", "Tokens of model calls", ("model", "type"))
AUDIT_DROPPED = Counter(
    "theanine_audit_entries_dropped", "Entries of the audit log that could not be stored"
)

SESSIONS = Counter(
    "theanine_worker_sessions", "Sessions that a worker remembered, or failed to", ("result",)
)


def record_operation(attributes: Mapping[str, Value], seconds: float) -> None:
    """Count an operation of the library; see :func:`theanine.telemetry.add_listener`."""
    model = str(attributes.get(telemetry.MODEL, ""))
    operation, error = attributes[telemetry.OPERATION], attributes.get(telemetry.ERROR, "")
    OPERATIONS.labels(operation, model, error).observe(seconds)
    kinds = (("input", telemetry.INPUT_TOKENS), ("output", telemetry.OUTPUT_TOKENS))
    for kind, name in kinds:
        if name in attributes:
            TOKENS.labels(model, kind).inc(float(attributes[name]))


def serve_metrics(
    host: str, port: int, probes: Mapping[str, Callable[[], str]] | None = None
) -> int:
    """Serve the metrics of all processes from a thread of this one, and return the port.

    ``probes`` are other paths, with functions that tell what is wrong: they answer 503, or 200 for
    an empty text.

    Raises SettingsError if the port can't be used.
    """
    disable_created_metrics()
    registry = REGISTRY
    if os.environ.get(FOLDER):
        registry = CollectorRegistry()
        MultiProcessCollector(registry)
    try:
        server, _ = start_http_server(port, host, registry)
    except OSError as error:
        raise SettingsError(f"metrics can't be served on port {port}: {error}") from error
    if probes:
        server.set_app(_with_probes(server.get_app(), probes))
    return server.server_port


def _with_probes(metrics: Any, probes: Mapping[str, Callable[[], str]]) -> Any:
    """Return a WSGI application that serves probes and the metrics."""

    def application(environ: Any, start_response: Any) -> Any:
        probe = probes.get(environ["PATH_INFO"])
        if probe is None:
            return metrics(environ, start_response)
        problem = probe()
        status = "503 Service Unavailable" if problem else "200 OK"
        start_response(status, [("Content-Type", "application/json")])
        return [json.dumps({"status": problem or "ok"}).encode()]

    return application
