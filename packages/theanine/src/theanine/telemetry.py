"""Traces and metrics of OpenTelemetry, by its conventions for memory, models, databases and HTTP.

A program that uses OpenTelemetry has imported it and set it up; otherwise nothing of it is imported
here, and an operation costs about a microsecond. Attributes never hold what anybody said, nor names
of users.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, Literal, Self

if TYPE_CHECKING:
    from contextvars import Token
    from types import TracebackType

    from opentelemetry.context import Context
    from opentelemetry.metrics import Histogram
    from opentelemetry.trace import Span as ApiSpan
    from opentelemetry.trace import Tracer

Value = str | bool | int | float
Kind = Literal["internal", "client", "server"]
MemoryOperation = Literal[
    "create_memory",  # log what was said
    "upsert_memory",  # remember a session
    "update_memory",  # correct or pin
    "search_memory",  # recall
    "delete_memory",  # forget a session, thread, turn or memory
    "delete_memory_store",  # forget a user
]
Listener = Callable[[Mapping[str, Value], float], None]
"""Called at the end of each ``gen_ai`` operation with its attributes and its seconds."""

OPERATION, ERROR = "gen_ai.operation.name", "error.type"
RECORDS, STORE = "gen_ai.memory.record.count", "gen_ai.memory.store.id"
PROVIDER, MODEL = "gen_ai.provider.name", "gen_ai.request.model"
INPUT_TOKENS, OUTPUT_TOKENS = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
METHOD, ROUTE, STATUS = "http.request.method", "http.route", "http.response.status_code"

_GEN_AI, _HTTP = (OPERATION, PROVIDER, MODEL, ERROR), (METHOD, ROUTE, STATUS, ERROR)
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_TOKENS = tuple(4.0**power for power in range(14))

_listeners: list[Listener] = []


class Span:
    """An operation in progress, as a context manager.

    What is called inside of it belongs to it in the trace, if it is current; then it must begin and
    end in the same task, which a generator's may not.
    """

    __slots__ = (
        "_context",
        "_is_current",
        "_kind",
        "_name",
        "_span",
        "_started",
        "_token",
        "attributes",
    )

    def __init__(
        self,
        name: str,
        attributes: Mapping[str, Value],
        kind: Kind = "internal",
        context: Context | None = None,
        is_current: bool = True,
    ) -> None:
        self.attributes = dict(attributes)
        self._name, self._kind, self._context = name, kind, context
        self._is_current = is_current
        self._span: ApiSpan | None = None
        self._token: Token[Context] | None = None
        self._started = 0.0

    def __enter__(self) -> Self:
        self._started = perf_counter()
        if _is_tracing():
            from opentelemetry import context, trace

            kind = trace.SpanKind[self._kind.upper()]
            self._span = _tracer().start_span(self._name, self._context, kind)
            if self._is_current:
                self._token = context.attach(trace.set_span_in_context(self._span, self._context))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        seconds = perf_counter() - self._started
        if kind is not None:
            self.attributes[ERROR] = kind.__name__
        attributes = self.attributes
        if self._span is not None:
            from opentelemetry import context
            from opentelemetry.trace import StatusCode

            if self._token is not None:
                context.detach(self._token)
            if ERROR in attributes:  # its message may quote what was said
                self._span.set_status(StatusCode.ERROR)
            self._span.set_attributes(attributes)
            self._span.end()
        if OPERATION in attributes:
            for listener in _listeners:
                listener(attributes, seconds)
        if "opentelemetry.metrics" in sys.modules:
            _measure(attributes, seconds)

    def rename(self, name: str) -> None:
        """Change the name, once more is known."""
        if self._span is not None:
            self._span.update_name(name)


def memory_operation(name: MemoryOperation, agent: str, tenant: str) -> Span:
    """Return the span of an operation on a user's memory."""
    attributes = {OPERATION: name, "gen_ai.agent.name": agent, "theanine.tenant": tenant}
    return Span(name, attributes)


def model_call(
    operation: Literal["chat", "embeddings"], name: str, *, streamed: bool = False
) -> Span:
    """Return the span of a call of a model, whose name begins with its provider's."""
    provider, separator, model = name.partition(":")
    attributes = {OPERATION: operation, PROVIDER: provider, MODEL: model if separator else name}
    return Span(f"{operation} {attributes[MODEL]}", attributes, "client", is_current=not streamed)


def request(method: str, headers: Iterable[tuple[bytes, bytes]]) -> Span:
    """Return the span of a request to a server, in the trace that its headers name."""
    context = None
    if _is_tracing():
        from opentelemetry import propagate

        named = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        context = propagate.extract(named)
    return Span(method, {METHOD: method}, "server", context)


def trace_headers() -> dict[str, str]:
    """Return the headers that have a server go on with the current trace; empty without one."""
    headers: dict[str, str] = {}
    if _is_tracing():
        from opentelemetry import propagate

        propagate.inject(headers)
    return headers


def current_ids() -> tuple[str, str] | None:
    """Return the ids of the current trace and span in hexadecimal; None without one."""
    if not _is_tracing():
        return None
    from opentelemetry import trace

    span = trace.get_current_span().get_span_context()
    if not span.is_valid:
        return None
    return trace.format_trace_id(span.trace_id), trace.format_span_id(span.span_id)


def start_statement(system: str, summary: Callable[[], tuple[str, str]]) -> ApiSpan | None:
    """Start the span of an SQL statement, if its caller's is recorded.

    ``summary`` gives the statement's verb and table. Nothing else of it is in the trace, since it
    may hold names.
    """
    if not _is_tracing():
        return None
    from opentelemetry import trace

    if not trace.get_current_span().is_recording():
        return None
    verb, table = summary()
    attributes = {"db.system.name": system, "db.operation.name": verb}
    if table:
        attributes["db.collection.name"] = table
    name = f"{verb} {table}".strip()
    return _tracer().start_span(name, None, trace.SpanKind.CLIENT, attributes)


def end_statement(span: ApiSpan, error: str = "") -> None:
    """End the span of an SQL statement; ``error`` is the type of its error."""
    if error:
        from opentelemetry.trace import StatusCode

        span.set_status(StatusCode.ERROR)
        span.set_attribute(ERROR, error)
    span.end()


def add_listener(listener: Listener) -> None:
    """Have a function called after each operation on a memory or a model."""
    _listeners.append(listener)


def remove_listener(listener: Listener) -> None:
    """Undo :func:`add_listener`."""
    _listeners.remove(listener)


def _measure(attributes: Mapping[str, Value], seconds: float) -> None:
    if OPERATION in attributes:
        kept = {name: attributes[name] for name in _GEN_AI if name in attributes}
        _histogram("gen_ai.client.operation.duration", "s", _SECONDS).record(seconds, kept)
        for name, kind in ((INPUT_TOKENS, "input"), (OUTPUT_TOKENS, "output")):
            if name in attributes:
                counted = {**kept, "gen_ai.token.type": kind}
                tokens = _histogram("gen_ai.client.token.usage", "{token}", _TOKENS)
                tokens.record(int(attributes[name]), counted)
    elif METHOD in attributes:
        kept = {name: attributes[name] for name in _HTTP if name in attributes}
        _histogram("http.server.request.duration", "s", _SECONDS).record(seconds, kept)


def _is_tracing() -> bool:
    """Whether the program has set up traces."""
    if (api := sys.modules.get("opentelemetry.trace")) is None:
        return False
    return not isinstance(api.get_tracer_provider(), api.ProxyTracerProvider)


@cache
def _tracer() -> Tracer:
    from importlib.metadata import version

    from opentelemetry import trace

    return trace.get_tracer("theanine", version("theanine"))


@cache
def _histogram(name: str, unit: str, bounds: tuple[float, ...]) -> Histogram:
    from importlib.metadata import version

    from opentelemetry import metrics

    meter = metrics.get_meter("theanine", version("theanine"))
    return meter.create_histogram(name, unit, explicit_bucket_boundaries_advisory=bounds)
