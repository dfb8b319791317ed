"""Where the present time comes from: a port, so that no logic calls ``now()`` by itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Gives the present time as an aware datetime."""


def system_clock() -> datetime:
    """The machine's time, in UTC."""
    return datetime.now(UTC)
