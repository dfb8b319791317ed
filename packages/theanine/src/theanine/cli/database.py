"""Change the database of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import anyio
import typer

from theanine.cli.options import StoreOption, YesOption, default_store
from theanine.cli.output import confirm
from theanine.errors import NotFound, UserError
from theanine.store import open_store, store_file
from theanine.store.sql.store import SqlStore

db = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="Change the database of a store."
)


@db.callback()
def _db() -> None:
    """Make ``db`` a group although it has one command."""


@db.command()
def downgrade(
    revision: Annotated[str, typer.Argument(metavar="REVISION", help="Such as 0009.")],
    store: StoreOption = "",
    yes: YesOption = False,
) -> None:
    """Return a store's tables to an earlier revision, for an earlier theanine.

    Data that the earlier revision has no place for is deleted, so write an export first. Any
    command of this version would bring the tables up to date again.

    \b
    theanine export > before.jsonl
    theanine db downgrade 0009
    """
    location = store or default_store()
    file = store_file(location)
    if file is not None and not Path(file).exists():
        raise NotFound(f"there is no store at {location}; name another with --store")
    if not yes:
        confirm(
            f"Return the tables of {location} to revision {revision}, and delete what it has no "
            "place for?"
        )
    anyio.run(_downgrade, location, revision)
    print(f"The tables are at revision {revision}. Open them with the theanine that wrote it.")


async def _downgrade(location: str, revision: str) -> None:
    store = open_store(location)
    if not isinstance(store, SqlStore):
        raise UserError(f"{location} has no tables that could be downgraded")
    await store.open()
    try:
        await store.downgrade(revision)
    finally:
        await store.close()
