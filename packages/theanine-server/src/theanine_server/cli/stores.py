"""Run a function in a transaction of a store, for commands that open no client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio

from theanine.cli.options import make_default_folder
from theanine.errors import NotFound, SettingsError
from theanine.store import open_store, store_file
from theanine.store.sql.database import Work
from theanine.store.sql.store import SqlStore


def run_in_store(location: str, work: Work[[], Any], *, create: bool = False) -> Any:
    """Call a function in a transaction of the store."""
    file = store_file(location)
    if create:
        make_default_folder(location)
    elif file is not None and not Path(file).exists():
        raise NotFound(f"there is no store at {location}; name another with --store")
    return anyio.run(_write, location, work)


async def _write(location: str, work: Work[[], Any]) -> Any:
    store = open_store(location)
    if not isinstance(store, SqlStore):
        raise SettingsError("this needs a store in a file or in PostgreSQL")
    await store.open()
    try:
        return await store.write(work)
    finally:
        await store.close()
