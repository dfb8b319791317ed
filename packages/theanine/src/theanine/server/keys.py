"""Cache of the keys that a process has read, so that most requests read none."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime, timedelta

from theanine.store.sql.api_keys import PREFIX, ApiKey

KNOWN_FOR = timedelta(seconds=5)
"""How long a process uses a key without reading it again; a revoked one ends within it."""
KNOWN_WITHOUT_STORE = timedelta(minutes=10)
"""The same for the proxy while the store can't be reached."""
PAUSE = timedelta(seconds=1)
"""How long a key that could not be read is not tried again."""
MAX_KNOWN = 10_000
"""Maximum keys in the cache."""


class KeyCache:
    """The keys that were used last, so that most requests read none."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[ApiKey, datetime, datetime]] = OrderedDict()

    def get(self, token: str, now: datetime) -> ApiKey | None:
        """Return the cached key of a token if it need not be read again at ``now``."""
        key, _, read_again = self._known.get(token, (None, now, now))
        return key if now < read_again else None

    def get_without_store(self, token: str, now: datetime) -> ApiKey | None:
        """Return the cached key of a token, even if it was read minutes ago."""
        key, read_at, _ = self._known.get(token, (None, now, now))
        return key if now - read_at < KNOWN_WITHOUT_STORE else None

    def postpone(self, token: str, now: datetime) -> None:
        """Don't try again for a while to read a cached key, which failed at ``now``."""
        if token in self._known:
            key, read_at, _ = self._known[token]
            self._known[token] = (key, read_at, now + PAUSE)

    def put(self, token: str, key: ApiKey, now: datetime) -> None:
        """Cache a key that was read at ``now``."""
        self._known[token] = (key, now, now + KNOWN_FOR)
        self._known.move_to_end(token)
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)


def is_own_key(token: str) -> bool:
    """Whether a token has the form of a key of the service, rather than of a provider's."""
    return token.startswith(f"{PREFIX}_")
