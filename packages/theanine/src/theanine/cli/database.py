"""Change the database of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

import anyio
import typer

from theanine.cli.options import StoreOption, YesOption, default_store
from theanine.cli.output import confirm
from theanine.cli.text import pluralize
from theanine.errors import NotFound, StoreError, StoreUnavailable, UserError
from theanine.store import open_store, store_file
from theanine.store.postgres import PostgresStore
from theanine.store.sql.distribution import Rebalance
from theanine.store.sql.store import SqlStore
from theanine.store.sql.upgrade import HEAD, Tables, too_new

_POLL = 0.5
"""Seconds between two looks at the tables."""

db = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="Change the database of a store."
)


@db.command()
def migrate(
    store: StoreOption = "",
    check: Annotated[
        bool,
        typer.Option("--check", help="Change nothing; exit with 1 unless they are up to date."),
    ] = False,
    wait: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Wait so long for the database, for others to close the store or, with --check, "
            "for the migration.",
        ),
    ] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Also while others have the store open.")
    ] = False,
) -> None:
    """Bring a store's tables up to date with this version, or make them if there are none.

    There is no way back but a backup, and a running process of an earlier version would write what
    no longer fits: so nothing is changed while others have the store open.

    \b
    theanine db migrate
    theanine db migrate --store postgresql://app@db/memory --wait 60
    theanine db migrate --check --wait 600
    """
    anyio.run(_migrate, store or default_store(), check, wait, force)


async def _migrate(location: str, check: bool, wait: float, force: bool) -> None:
    store = _open_sql(location)
    ends = anyio.current_time() + wait
    while True:
        late = anyio.current_time() >= ends
        try:
            tables = await store.load_tables()
        except StoreUnavailable:
            if late:
                raise
        else:
            if tables.are_current:
                print(f"The tables are up to date: revision {HEAD}.")
                return
            if tables.revision is not None and tables.revision > HEAD:
                raise too_new(store.location, tables.revision)
            if not check and (force or not tables.others or tables.revision is None):
                break
            if late:
                _refuse(store.location, tables, check)
        await anyio.sleep(_POLL)
    await store.open()
    await store.close()
    since = f", since {tables.revision}" if tables.revision else ""
    print(f"The tables are at revision {HEAD} now{since}.")


def _refuse(location: str, tables: Tables, check: bool) -> NoReturn:
    """Say why nothing is changed. Raises StoreError."""
    revision = f"at revision {tables.revision}" if tables.revision else "missing"
    if check:
        raise StoreError(
            f"the tables of {location} are {revision}, and this version needs {HEAD}: run "
            "`theanine db migrate`"
        )
    raise StoreError(
        f"the tables of {location} are {revision}, and others have the store open: "
        f"{', '.join(tables.others)}. Stop all servers, workers and other processes first, or give "
        "them time by --wait; nothing was changed"
    )


def _open_sql(location: str) -> SqlStore:
    store = open_store(location)
    if not isinstance(store, SqlStore):
        raise UserError(f"{location} has no tables")
    return store


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


@db.command()
def distribute(
    store: StoreOption = "",
    shards: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Parts of each table, more than there will be workers "
            "(default: the server's setting).",
        ),
    ] = None,
) -> None:
    """Distribute a PostgreSQL store over a Citus cluster.

    Each user's data goes to one of the workers. The store may be in use: others can read, and
    writers wait, up to 30 seconds, before they are told to try again. Nothing is changed if it is
    interrupted. Connect without PgBouncer, and unless the store is empty, as a superuser or a role
    with BYPASSRLS.

    \b
    theanine db distribute --store postgresql://postgres@coordinator/theanine
    """
    anyio.run(_distribute, store or default_store(), shards)


@db.command()
def rebalance(store: StoreOption = "") -> None:
    """Move users to the workers that a Citus cluster got or lost.

    The store may be in use: others read and write meanwhile. The role that owns the tables isn't
    held by row-level security until it is done. If it is interrupted, it stops after the moves that
    are done. Connect as a superuser, without PgBouncer.

    \b
    theanine db rebalance --store postgresql://postgres@coordinator/theanine
    """
    anyio.run(_rebalance, store or default_store())


async def _rebalance(location: str) -> None:
    postgres = await _open_postgres(location, "rebalanced")

    shown = ""

    def show(now: Rebalance) -> None:
        nonlocal shown
        line = f"{now.done} of {pluralize(now.moves, 'moves')} done"
        if line != shown:
            typer.echo(line, err=True)
        shown = line

    try:
        ended = await postgres.rebalance(show)
        distribution = await postgres.distribution()
    finally:
        await postgres.close()
    begin = f"{pluralize(ended.moves, 'moves')} done" if ended.moves else "Nothing to move"
    print(f"{begin}: {distribution}")


async def _open_postgres(location: str, done: str) -> PostgresStore:
    postgres = open_store(location)
    if not isinstance(postgres, PostgresStore):
        raise UserError(f"{location} is no PostgreSQL database, so it can't be {done}")
    await postgres.open()
    return postgres


async def _distribute(location: str, shards: int | None) -> None:
    postgres = await _open_postgres(location, "distributed")
    try:
        done = await postgres.distribute(shards)
        distribution = await postgres.distribution()
    finally:
        await postgres.close()
    if distribution is not None:
        begin = f"Distributed {pluralize(len(done), 'tables')}" if done else "Already distributed"
        print(f"{begin}: {distribution}")


async def _downgrade(location: str, revision: str) -> None:
    store = _open_sql(location)
    await store.open()
    try:
        await store.downgrade(revision)
    finally:
        await store.close()
