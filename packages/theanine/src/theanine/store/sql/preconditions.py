"""Preconditions of changes, checked in the transaction that makes the change."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

import sqlalchemy as sa

Precondition = Callable[[sa.Connection], None]
"""Raises an error if a change must not be made."""

_current: ContextVar[Precondition | None] = ContextVar("theanine_precondition", default=None)


def require(precondition: Precondition) -> None:
    """Set the precondition of all later changes by the current task."""
    _current.set(precondition)


def check_precondition(db: sa.Connection) -> None:
    """Check the current task's precondition, if it has one, before a change."""
    if (precondition := _current.get()) is not None:
        precondition(db)
