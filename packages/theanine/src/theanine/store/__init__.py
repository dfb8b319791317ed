"""Storage: the ``Store`` interface, its values, and opening a store by location."""

from __future__ import annotations

from theanine.errors import SettingsError
from theanine.store.base import Store
from theanine.store.processes import lease_holder, process_holder
from theanine.store.values import (
    CostLine,
    ForgetReport,
    JournalEntry,
    Logged,
    Pending,
    ScopeVersion,
)


def open_store(location: str) -> Store:
    """Return the store at ``memory.db`` or ``sqlite:///memory.db``, not opened yet.

    Raises SettingsError for a location of another kind.
    """
    scheme, separator, rest = location.partition("://")
    if not separator:
        rest = location
    elif scheme.startswith("postgres"):
        raise SettingsError("PostgreSQL is not supported in this version; name a file instead")
    elif scheme != "sqlite":
        raise SettingsError(f"unknown store {scheme}://; name a file or use sqlite:///FILE")
    else:
        rest = rest.removeprefix("/")
    from theanine.store.sqlite import SqliteStore

    return SqliteStore(rest)


__all__ = [
    "CostLine",
    "ForgetReport",
    "JournalEntry",
    "Logged",
    "Pending",
    "ScopeVersion",
    "Store",
    "lease_holder",
    "open_store",
    "process_holder",
]
