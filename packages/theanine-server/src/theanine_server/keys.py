"""Cache of the keys that a process has read, so that most requests read none."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from theanine.store.sql.api_keys import PREFIX, ApiKey

KNOWN_FOR = 5.0
"""Seconds for which a process uses a key without reading it again; a revoked one ends within it."""
KNOWN_WITHOUT_STORE = 600.0
"""The same for the proxy while the store can't be reached."""
PAUSE = 1.0
"""Seconds for which a key that could not be read is not tried again."""
MAX_KNOWN = 10_000
"""Maximum keys in the cache."""


class KeyCache:
    """The keys that were used last, so that most requests read none.

    Args:
        clock: seconds of a clock that is never set back: else a revoked key would live on.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[str, tuple[ApiKey, float, float]] = OrderedDict()

    def get(self, token: str) -> ApiKey | None:
        """Return the cached key of a token if it need not be read again yet."""
        key, _, read_again = self._known.get(token, (None, 0.0, 0.0))
        return key if self._clock() < read_again else None

    def get_without_store(self, token: str) -> ApiKey | None:
        """Return the cached key of a token, even if it was read minutes ago."""
        key, read_at, _ = self._known.get(token, (None, 0.0, 0.0))
        return key if key and self._clock() - read_at < KNOWN_WITHOUT_STORE else None

    def postpone(self, token: str) -> None:
        """Don't try again for a while to read a cached key, which failed now."""
        if token in self._known:
            key, read_at, _ = self._known[token]
            self._known[token] = (key, read_at, self._clock() + PAUSE)

    def put(self, token: str, key: ApiKey) -> None:
        """Cache a key that was read now."""
        now = self._clock()
        self._known[token] = (key, now, now + KNOWN_FOR)
        self._known.move_to_end(token)
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)


def is_own_key(token: str) -> bool:
    """Whether a token has the form of a key of the service, rather than of a provider's."""
    return token.startswith(f"{PREFIX}_")
