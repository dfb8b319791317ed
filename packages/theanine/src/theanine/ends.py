"""The own end of a turn or memory: when it expires, and by when to verify it.

Both are times in its metadata, so that they are wherever that is: in filters, imports, exports and
services. They are stored in UTC and in one form, in which their order is that of time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from theanine.clock import fault_of_time
from theanine.types import Memory, Metadata, Turn

EXPIRES = "expires"
"""Key of the time at which something ends: then it is not shown any more, and erased."""
VERIFY_BY = "verify_by"
"""Key of the time from which something must be verified before it is relied on."""
ENDS = (EXPIRES, VERIFY_BY)


def end_text(at: datetime) -> str:
    """Return a time as metadata has it, in whole seconds."""
    return at.astimezone(UTC).isoformat(timespec="seconds")


def read_end(metadata: Mapping[str, Any], name: str) -> datetime | None:
    """Return the time under one of ``ENDS``; None if there is none, or what is there is no time."""
    if isinstance(value := metadata.get(name), str):
        with suppress(ValueError):
            at = datetime.fromisoformat(value)
            at = at if at.utcoffset() is not None else at.replace(tzinfo=UTC)
            return None if fault_of_time(at) else at
    return None


def earliest_ends(sources: Sequence[Metadata]) -> dict[str, str]:
    """Return the earliest of each end that any of some metadata has."""
    found = {name: [end for each in sources if (end := read_end(each, name))] for name in ENDS}
    return {name: end_text(min(ends)) for name, ends in found.items() if ends}


def to_verify_since(of: Iterable[Turn | Memory], now: datetime) -> datetime | None:
    """Return since when any of some turns or memories is to be verified; None if none is."""
    due = (read_end(each.metadata, VERIFY_BY) for each in of if VERIFY_BY in each.metadata)
    return min((at for at in due if at is not None and at <= now), default=None)
