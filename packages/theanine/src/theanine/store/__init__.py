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


def open_store(location: str, *, read_only: bool = False) -> Store:
    """Return the store at ``memory.db``, ``sqlite:///memory.db`` or ``postgresql://…``, unopened.

    With ``read_only``, it is neither created nor migrated nor changed. Raises SettingsError for a
    location of another kind.
    """
    file = store_file(location)
    if file is None:
        from theanine.store.postgres import PostgresStore

        return PostgresStore(location, read_only=read_only)
    from theanine.store.sqlite import SqliteStore

    return SqliteStore(file, read_only=read_only)


def store_file(location: str) -> str | None:
    """Return the path of the file that a location names; None for a server's database.

    Raises SettingsError for a location of another kind.
    """
    scheme, separator, rest = location.partition("://")
    if not separator:
        return location
    if scheme in ("postgresql", "postgres"):
        return None
    if scheme != "sqlite":
        raise SettingsError(
            f"unknown store {scheme}://; name a file, or use sqlite:///FILE or postgresql://…"
        )
    return rest.removeprefix("/")


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
    "store_file",
]
