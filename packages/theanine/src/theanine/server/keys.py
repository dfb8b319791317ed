"""The keys that a process has read, so that most requests read none."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime, timedelta

from theanine.store.sql.api_keys import PREFIX, ApiKey

KNOWN_FOR = timedelta(seconds=5)
"""How long a process takes a key for valid without reading it again: a revoked one ends by then."""
KNOWN_WITHOUT_STORE = timedelta(minutes=10)
"""The same for the proxy while the store can't be reached."""
MAX_KNOWN = 10_000
"""Keys that a process remembers."""


class KeyCache:
    """The keys that were used last, so that most requests read none."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[ApiKey, datetime]] = OrderedDict()

    def get(self, token: str, now: datetime, known_for: timedelta = KNOWN_FOR) -> ApiKey | None:
        """Return the key of a token that was read not long before ``now``."""
        key, read_at = self._known.get(token, (None, now))
        return key if now - read_at < known_for else None

    def put(self, token: str, key: ApiKey, now: datetime) -> None:
        """Remember a key that was read at ``now``."""
        self._known[token] = (key, now)
        self._known.move_to_end(token)
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)


def is_own_key(token: str) -> bool:
    """Whether a token has the form of a key of the service, rather than of a provider's."""
    return token.startswith(f"{PREFIX}_")
