"""Spans of SQL statements, by their verb and table: their text and values may hold names."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from theanine.telemetry import end_statement, start_statement

_SPAN = "_theanine_span"
_LITERAL = re.compile(r"'(?:[^'\\]|\\.|'')*'")
_VERB = re.compile(r"\s*(\w+)")
_TABLE = re.compile(r'\b(?:FROM|INTO|UPDATE|VACUUM|TABLE)\s+"?(\w+)', re.IGNORECASE)


def trace_statements(engine: sa.Engine) -> None:
    """Add a span for each statement of an engine to the traces that are recorded."""
    system = engine.dialect.name

    @event.listens_for(engine, "before_cursor_execute")
    def start(  # pyright: ignore[reportUnusedFunction]
        connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool
    ) -> None:
        if span := start_statement(system, partial(summarize, statement)):
            setattr(context, _SPAN, span)

    @event.listens_for(engine, "after_cursor_execute")
    def end(  # pyright: ignore[reportUnusedFunction]
        connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool
    ) -> None:
        if span := getattr(context, _SPAN, None):
            end_statement(span)

    @event.listens_for(engine, "handle_error")
    def fail(failure: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        if span := getattr(failure.execution_context, _SPAN, None):
            end_statement(span, type(failure.original_exception).__name__)


@contextmanager
def traced(system: str, statement: str) -> Generator[None]:
    """Add a span for a statement that the driver runs by itself in the block."""
    span = start_statement(system, partial(summarize, statement))
    error = ""
    try:
        yield
    except Exception as failure:
        error = type(failure).__name__
        raise
    finally:
        if span:
            end_statement(span, error)


def summarize(statement: str) -> tuple[str, str]:
    """Return a statement's verb and its first table, or empty strings."""
    plain = _LITERAL.sub("", statement)
    verb, table = _VERB.match(plain), _TABLE.search(plain)
    return verb[1].upper() if verb else "", table[1] if table else ""
