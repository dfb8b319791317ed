"""Where everything is kept: the store's port, and its adapters by location."""

from __future__ import annotations

from theanine.errors import SettingsError
from theanine.store.base import Store


def open_store(location: str) -> Store:
    """The store at a location, not opened yet: ``memory.db`` or ``sqlite:///memory.db``.

    Raises SettingsError for a location that no adapter serves.
    """
    scheme, separator, rest = location.partition("://")
    if not separator:
        rest = location
    elif scheme.startswith("postgres"):
        raise SettingsError("PostgreSQL isn't available in this version; name a file instead")
    elif scheme != "sqlite":
        raise SettingsError(f"{scheme}:// isn't known; name a file or sqlite:///file")
    else:
        rest = rest.removeprefix("/")
    from theanine.store.sqlite import SqliteStore

    return SqliteStore(rest)


__all__ = ["Store", "open_store"]
