"""Exceptions of code that other packages add: methods, commands and metrics."""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path
from traceback import extract_tb, walk_tb
from typing import cast

from theanine.errors import METRIC_NOTE

SHOW_TRACE: ContextVar[bool] = ContextVar("SHOW_TRACE", default=False)
"""Whether ``--debug`` asks for the trace of an exception."""

_KINDS = {"theanine.methods": "the method", "theanine.commands": "the command"}


def describe_failure(error: Exception) -> str | None:
    """Return one line that names whose code raised an exception; None for our own."""
    while isinstance(error, ExceptionGroup):  # of tasks, of which one failed
        error = cast("Exception", error.exceptions[0])
    source = _find_source(error)
    if source is None:
        return None
    frame = extract_tb(error.__traceback__)[-1]
    reason = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    return (
        f"{source} failed with {reason} ({Path(frame.filename).name}, line {frame.lineno}). The "
        "fault is in its code; `theanine --debug` before the command shows the trace"
    )


def _find_source(error: Exception) -> str | None:
    from importlib.metadata import entry_points  # takes long to load

    for note in getattr(error, "__notes__", ()):
        if note.startswith(METRIC_NOTE):
            return f"the metric {note.removeprefix(METRIC_NOTE)}"
    packages = {
        point.module.partition(".")[0]: f"{kind} {point.name} of {point.value}"
        for group, kind in _KINDS.items()
        for point in entry_points(group=group)
        if not point.module.startswith(("theanine.", "theanine_"))
    }
    modules = [str(frame.f_globals.get("__name__")) for frame, _ in walk_tb(error.__traceback__)]
    sources = [packages.get(module.partition(".")[0]) for module in modules]
    return next((source for source in reversed(sources) if source), None)
