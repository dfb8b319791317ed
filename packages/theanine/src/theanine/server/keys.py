"""The keys that a process has read, so that most requests read none."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime, timedelta

from theanine.store.sql.api_keys import ApiKey

KNOWN_FOR = timedelta(seconds=5)
"""How long a process takes a key for valid without reading it again: a revoked one ends by then."""
MAX_KNOWN = 10_000
"""Keys that a process remembers."""


class KeyCache:
    """The keys that were used last, so that most requests read none."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[ApiKey, datetime]] = OrderedDict()

    def get(self, token: str, now: datetime) -> ApiKey | None:
        """Return the key of a token that was read shortly before ``now``."""
        key, read_at = self._known.get(token, (None, now))
        return key if now - read_at < KNOWN_FOR else None

    def put(self, token: str, key: ApiKey, now: datetime) -> None:
        """Remember a key that was read at ``now``."""
        self._known[token] = (key, now)
        self._known.move_to_end(token)
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
