"""Copying one store into another; see :mod:`theanine.store.copy`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from os import PathLike, fspath
from pathlib import Path

from anyio.from_thread import start_blocking_portal

from theanine.errors import NotFound, SettingsError
from theanine.store import open_store, store_file
from theanine.store.copy import CopyReport, ScopeCopy, StoreCopy
from theanine.types import Scope

Location = str | PathLike[str]


async def acopy_store(
    source: Location,
    destination: Location,
    *,
    user: str | None = None,
    agent: str | None = None,
    tenant: str | None = None,
    verify_only: bool = False,
    progress: Callable[[ScopeCopy, int], None] = lambda _copy, _total: None,
) -> CopyReport:
    """Copy a store to another location, a file or a database, and compare what both have.

    Each user goes over in one transaction, and what the destination has already isn't copied again:
    after an interruption, or when the source has changed, the same call completes the copy. Nothing
    comes back that was forgotten at the destination. The source is only read.

    Args:
        source: a file or a URL, as for :func:`theanine.open`; it may be in use.
        destination: the same; it is created if need be.
        user, agent, tenant: only these. Settings of the store, and what tells that users were
            forgotten, are copied with all users only.
        verify_only: compare, and copy nothing.
        progress: called after each user, with their number.

    Returns what became of the users; it is ``complete`` if the destination lacks nothing.

    Raises:
        NotFound: there is no source, or nobody of these names in it.
        SettingsError: both are the same, or their vectors are of different embedders.
        StoreError: one of them can't be read or written; what was copied so far stays.
    """
    if _is_same(source, destination):
        raise SettingsError("the source and the destination are the same store")
    names = {"user": user, "agent": agent, "tenant": tenant}
    wanted = {field: name for field, name in names.items() if name is not None}

    def selected(scope: Scope) -> bool:
        return all(getattr(scope, field) == name for field, name in wanted.items())

    read = open_store(fspath(source), read_only=True)
    written = open_store(fspath(destination), read_only=verify_only)
    try:
        await read.open()
        if wanted and not any(map(selected, await read.export_versions())):
            shown = ", ".join(f"{field} {name}" for field, name in wanted.items())
            raise NotFound(f"there is nobody of {shown} in {read.location}")
        await written.open()
        work = StoreCopy(read, written, verify_only=verify_only)
        return await work.run(selected if wanted else None, progress)
    finally:
        await written.close()
        await read.close()


def copy_store(
    source: Location,
    destination: Location,
    *,
    user: str | None = None,
    agent: str | None = None,
    tenant: str | None = None,
    verify_only: bool = False,
    progress: Callable[[ScopeCopy, int], None] = lambda _copy, _total: None,
) -> CopyReport:
    """Copy a store to another location, and compare what both have; see :func:`acopy_store`."""
    call = partial(
        acopy_store,
        source,
        destination,
        user=user,
        agent=agent,
        tenant=tenant,
        verify_only=verify_only,
        progress=progress,
    )
    with start_blocking_portal("asyncio") as portal:
        future = portal.start_task_soon(call)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise


def _is_same(source: Location, destination: Location) -> bool:
    files = [store_file(fspath(each)) for each in (source, destination)]
    if None in files:
        return fspath(source) == fspath(destination)
    first, second = (Path(file or "").expanduser().resolve() for file in files)
    return first == second or (first.exists() and second.exists() and first.samefile(second))
