"""Run the service, and manage its keys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import typer

from theanine.cli.options import (
    ChatOptions,
    JsonOption,
    StoreOption,
    default_store,
    expand_options,
)
from theanine.cli.output import show_json
from theanine.cli.rendering import show_table
from theanine.cli.text import visible
from theanine.clock import system_clock
from theanine.errors import MissingExtra, NotFound, SettingsError
from theanine.private_files import make_folder
from theanine.store import open_store, store_file
from theanine.store.sql.api_keys import RIGHTS, ApiKey, create_key, load_keys, revoke_key
from theanine.store.sql.store import SqlStore, Work

GRACE = 30
"""Seconds that requests have to end when the service is stopped."""

keys = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="Create, list and revoke keys of the service."
)


@dataclass(frozen=True, kw_only=True)
class ServeOptions(ChatOptions):
    """Options of the client that the service opens."""

    remembering: Annotated[
        Literal["background", "later", "now"],
        typer.Option(
            help="When an ended session is remembered; `later` leaves it to `theanine remember`."
        ),
    ] = "background"

    def open_options(self) -> Any:
        """Return the client's options."""
        return replace(super().open_options(), remembering=self.remembering)


@expand_options
def serve(
    options: ServeOptions,
    host: Annotated[
        str, typer.Option(envvar="THEANINE_HOST", metavar="ADDRESS", help="Address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(envvar="THEANINE_PORT", min=0, max=65_535, help="Port to listen on.")
    ] = 8321,
    openai_url: Annotated[
        str,
        typer.Option(
            envvar="THEANINE_OPENAI_URL",
            metavar="URL",
            help="OpenAI-compatible API behind the memory proxy.",
        ),
    ] = "https://api.openai.com/v1",
    anthropic_url: Annotated[
        str,
        typer.Option(
            envvar="THEANINE_ANTHROPIC_URL",
            metavar="URL",
            help="Anthropic's API behind the memory proxy.",
        ),
    ] = "https://api.anthropic.com/v1",
    processes: Annotated[int, typer.Option(min=1, max=64, help="Number of processes.")] = 1,
    dev: Annotated[
        bool, typer.Option("--dev", help="Ask for no key; only this machine may connect.")
    ] = False,
) -> None:
    """Serve memory over HTTP to applications.

    The API is described at /openapi.json. It includes a memory proxy: a client of OpenAI or
    Anthropic whose base URL is the service's talks with its provider through it, and it recalls and
    logs for the user in the header Theanine-User.

    \b
    theanine keys create --name app
    theanine serve
    theanine serve --dev
    theanine serve --store postgresql://app@db/memory --host 0.0.0.0 --processes 4
    """
    try:
        import uvicorn
        from uvicorn.supervisors import Multiprocess

        from theanine.server import ServerOptions, create_app
        from theanine.server.access import is_loopback
    except ModuleNotFoundError as error:
        raise MissingExtra("server", "the service") from error
    if dev and not is_loopback(host):
        raise SettingsError(
            f"--dev asks for no key, so it listens only on this machine, not on {host}; create a "
            "key with `theanine keys create` instead"
        )
    client = options.open_options()
    _make_default_folder(str(client.location))
    served = ServerOptions(client, dev=dev, openai_url=openai_url, anthropic_url=anthropic_url)
    config = uvicorn.Config(
        partial(create_app, served),
        factory=True,
        host=host,
        port=port,
        workers=processes,
        log_level="info",
        server_header=False,
        timeout_graceful_shutdown=GRACE,
    )
    if processes == 1:
        server = uvicorn.Server(config)
        server.run()
        if not server.started:
            raise typer.Exit(1)
    else:
        Multiprocess(config, sockets=[config.bind_socket()]).run()


@keys.command()
def create(
    name: Annotated[str, typer.Option(metavar="TEXT", help="What the key is for.")],
    store: StoreOption = "",
    tenant: Annotated[
        str, typer.Option(metavar="NAME", help="Tenant whose data it opens.")
    ] = "default",
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Only this user's data.")] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this agent's data.")
    ] = None,
    right: Annotated[
        list[str] | None,
        typer.Option(metavar="RIGHT", help=f"One of {', '.join(RIGHTS)}; repeatable."),
    ] = None,
    rate: Annotated[int | None, typer.Option(min=1, help="Requests a minute.")] = None,
    days: Annotated[int | None, typer.Option(min=1, help="Days until it expires.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a key and print it; it can't be shown again.

    Without --right it may read and write.

    \b
    theanine keys create --name app
    theanine keys create --name dashboard --right read --user ana --days 30
    """
    now = system_clock()
    work = partial(
        create_key,
        name=name,
        at=now,
        tenant=tenant,
        user=user,
        agent=agent,
        rights=right or ("read", "write"),
        rate=rate,
        expires_at=None if days is None else now + timedelta(days=days),
    )
    key, token = _run(store or default_store(), work, create=True)
    if as_json:
        show_json({"token": token, "key": key})
    else:
        print(token)


@keys.command("list")
def list_(
    store: StoreOption = "",
    tenant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this tenant's (default: all).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List keys, without their secrets.

    \b
    theanine keys list
    """
    found: list[ApiKey] = _run(store or default_store(), partial(load_keys, tenant=tenant))
    if as_json:
        show_json(found)
    elif not found:
        print("There are no keys; `theanine keys create` makes one.")
    else:
        show_table(
            ["id", "name", "tenant", "user", "agent", "rights", "requests a minute", "state"],
            (
                [
                    key.id,
                    visible(key.name),
                    visible(key.tenant),
                    visible(key.user or "all"),
                    visible(key.agent or "all"),
                    ", ".join(key.rights),
                    key.rate or "",
                    _state(key, system_clock()),
                ]
                for key in found
            ),
        )


@keys.command()
def revoke(
    key: Annotated[str, typer.Argument(metavar="ID", help="Id of the key, from `keys list`.")],
    store: StoreOption = "",
) -> None:
    """Revoke a key; a running service refuses it within five seconds.

    \b
    theanine keys revoke 3f9a1c0d2b4e6f88
    """
    revoked = _run(store or default_store(), partial(revoke_key, key=key, at=system_clock()))
    print(visible(f"key {revoked.id} ({revoked.name}) is revoked"))


def _run(location: str, work: Work[[], Any], *, create: bool = False) -> Any:
    """Call a function in a transaction of the store."""
    file = store_file(location)
    if create:
        _make_default_folder(location)
    elif file is not None and not Path(file).exists():
        raise NotFound(f"there is no store at {location}; name another with --store")
    return anyio.run(_write, location, work)


async def _write(location: str, work: Work[[], Any]) -> Any:
    store = open_store(location)
    if not isinstance(store, SqlStore):
        raise SettingsError("keys need a store in a file or in PostgreSQL")
    await store.open()
    try:
        return await store.write(work)
    finally:
        await store.close()


def _make_default_folder(location: str) -> None:
    if location == default_store():
        make_folder(Path(location).parent)


def _state(key: ApiKey, now: datetime) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if not key.is_valid(now):
        return "expired"
    return "valid" if key.expires_at is None else f"valid until {key.expires_at:%Y-%m-%d}"
