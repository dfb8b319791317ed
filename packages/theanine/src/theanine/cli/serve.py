"""Run the service, and manage its keys."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from logging.config import dictConfig
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio
import typer

from theanine.cli.options import (
    ChatOptions,
    HostOption,
    JsonOption,
    MetricsPortOption,
    StoreOption,
    WebhookAllowOption,
    default_store,
    expand_options,
)
from theanine.cli.output import show_json
from theanine.cli.rendering import show_table
from theanine.cli.text import visible
from theanine.client import AsyncClient, Client, OpenOptions
from theanine.clock import system_clock
from theanine.errors import MissingExtra, NotFound, SettingsError
from theanine.private_files import make_folder
from theanine.store import open_store, store_file
from theanine.store.sql.api_keys import RIGHTS, ApiKey, create_key, load_keys, revoke_key
from theanine.store.sql.audit import load_pseudonyms
from theanine.store.sql.database import Work
from theanine.store.sql.store import SqlStore
from theanine.temporary_folders import remove_leftovers, temporary_folder

if TYPE_CHECKING:
    from fastapi import FastAPI

    from theanine.server import ServerOptions

_log = logging.getLogger("theanine.server")

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

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
    host: HostOption = "127.0.0.1",
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
    require_user: Annotated[
        bool,
        typer.Option(
            "--require-user",
            envvar="THEANINE_REQUIRE_USER",
            help="Have the memory proxy refuse a request that names no user; else it has no "
            "memory.",
        ),
    ] = False,
    recall_deadline: Annotated[
        float,
        typer.Option(
            envvar="THEANINE_RECALL_DEADLINE",
            min=0.01,
            max=60,
            metavar="SECONDS",
            help="Time within which a recall answers, by doing less if need be.",
        ),
    ] = 10.0,
    processes: Annotated[int, typer.Option(min=1, max=64, help="Number of processes.")] = 1,
    max_replies: Annotated[
        int | None,
        typer.Option(
            envvar="THEANINE_MAX_REPLIES",
            min=0,
            help="Replies a day that one tenant may have at your cost: by the service's model, or "
            "through the proxy by your provider's key.",
        ),
    ] = None,
    drain: Annotated[
        float,
        typer.Option(
            envvar="THEANINE_DRAIN",
            min=0,
            metavar="SECONDS",
            help="Time after SIGTERM in which requests are still taken, while /ready says no.",
        ),
    ] = 0,
    metrics_port: MetricsPortOption = None,
    audit_days: Annotated[
        int,
        typer.Option(
            envvar="THEANINE_AUDIT_DAYS",
            min=0,
            help="Days that entries of the audit log are kept; 0 for no audit log.",
        ),
    ] = 30,
    webhook_allow: WebhookAllowOption = None,
    log_format: Annotated[
        LogFormat,
        typer.Option(envvar="THEANINE_LOG_FORMAT", help="Form of the log on standard error."),
    ] = "text",
    log_level: Annotated[
        LogLevel,
        typer.Option(envvar="THEANINE_LOG_LEVEL", help="What is logged; `info` has requests."),
    ] = "info",
    dev: Annotated[
        bool, typer.Option("--dev", help="Ask for no key; only this machine may connect.")
    ] = False,
) -> None:
    """Serve memory over HTTP to applications.

    The API is described at /openapi.json. It includes a memory proxy: a client of OpenAI or
    Anthropic whose base URL is the service's talks with its provider through it, and it recalls and
    logs for the user in the header Theanine-User. With the extra mcp, clients of the Model Context
    Protocol connect to /mcp.

    \b
    theanine keys create --name app
    theanine serve
    theanine serve --dev
    theanine serve --store postgresql://app@db/memory --host 0.0.0.0 --processes 4
    """
    run_service(
        options.open_options(),
        host=host,
        port=port,
        processes=processes,
        dev=dev,
        openai_url=openai_url,
        anthropic_url=anthropic_url,
        require_user=require_user,
        drain=drain,
        max_replies=max_replies,
        audit=timedelta(days=audit_days) if audit_days else None,
        webhook_allow=webhook_allow or (),
        metrics_port=metrics_port,
        log_format=log_format,
        log_level=log_level,
        recall_deadline=recall_deadline,
    )


def run_service(
    client: OpenOptions,
    *,
    host: str,
    port: int,
    dev: bool,
    processes: int = 1,
    metrics_port: int | None = None,
    log_format: LogFormat = "text",
    log_level: LogLevel = "info",
    webhook_allow: Sequence[str] = (),
    **options: Any,
) -> None:
    """Run the service until it is stopped; ``options`` are others of ``ServerOptions``.

    Raises MissingExtra, SettingsError for ``dev`` on an address that others can reach and for a
    port that is taken, and what keeps the store from being opened.
    """
    remove_leftovers()
    if metrics_port is not None and processes > 1:
        _share_metrics()
    try:
        import uvicorn

        from theanine.server import ServerOptions
        from theanine.server.access import is_loopback
        from theanine.server.connections import HttpProtocol
        from theanine.server.logs import log_config
        from theanine.server.metrics import serve_metrics
        from theanine.server.processes import SILENCE, Processes
        from theanine.webhooks.guard import Guard
    except ModuleNotFoundError as error:
        raise MissingExtra("server", "the service") from error
    if dev and not is_loopback(host):
        raise SettingsError(
            f"--dev asks for no key, so it listens only on this machine, not on {host}; create a "
            "key with `theanine keys create` instead"
        )
    guard = Guard(webhook_allow)
    served = ServerOptions(
        client, dev=dev, mcp_sessions=processes == 1, webhook_guard=guard, **options
    )
    make_default_folder(str(served.client.location))
    listen(host, port).close()  # before anything is logged, and with one line
    check_store(client)
    logs = log_config(log_format, log_level)
    dictConfig(logs)
    if metrics_port is not None:
        port_used = serve_metrics(host, metrics_port)
        _log.info("metrics on http://%s:%d/metrics", host, port_used)
    if not dev and not _has_key(str(client.location)):
        _log.warning("no key is valid, so requests are refused: run `theanine keys create`")
    config = uvicorn.Config(
        partial(_make_app, served),
        factory=True,
        http=HttpProtocol,
        host=host,
        port=port,
        workers=processes,
        log_config=logs,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        timeout_worker_healthcheck=round(SILENCE),
    )
    if processes == 1:
        server = uvicorn.Server(config)
        server.run()
        if not server.started:
            raise typer.Exit(1)
    else:
        Processes(config, sockets=[config.bind_socket()]).run()


def check_store(options: OpenOptions) -> None:
    """Open and close a client as the service will, and raise what keeps it from starting.

    The server itself would log a trace of it.
    """
    location = str(options.location)
    with Client(AsyncClient(replace(options, remembering="later"))):
        pass
    run_in_store(location, load_pseudonyms, create=True)


def _has_key(location: str) -> bool:
    now = system_clock()
    return any(key.is_valid(now) for key in run_in_store(location, load_keys))


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address. Raises SettingsError if it can't be used."""
    try:
        family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind)
    except OSError as error:
        raise SettingsError(f"the address {host} can't be used ({error.strerror})") from error
    if os.name == "posix":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
    except OSError as error:
        listening.close()
        raise SettingsError(
            f"port {port} of {host} can't be used ({error.strerror}); name another with "
            "--port, 0 for any free one"
        ) from error
    return listening


def _make_app(options: ServerOptions) -> FastAPI:
    """Return the application, in each process that serves it."""
    from theanine.server import create_app

    app = create_app(options)
    # What has been loaded stays: else the garbage collector would stop requests to go through it.
    gc.collect()
    gc.freeze()
    return app


def _share_metrics() -> None:
    """Have all processes count into one folder, which is theirs alone."""
    until_exit = ExitStack()
    folder = until_exit.enter_context(temporary_folder("metrics"))
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
    atexit.register(until_exit.close)


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

    Without --right it may read and write. A key with the right reply has the service's model
    reply, at the operator's cost.

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
    key, token = run_in_store(store or default_store(), work, create=True)
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
    found: list[ApiKey] = run_in_store(store or default_store(), partial(load_keys, tenant=tenant))
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
    """Revoke a key and those that it made; a running service refuses them within five seconds.

    \b
    theanine keys revoke 3f9a1c0d2b4e6f88
    """
    revoked: list[ApiKey] = run_in_store(
        store or default_store(), partial(revoke_key, key=key, at=system_clock())
    )
    for each in revoked:
        print(visible(f"key {each.id} ({each.name}) is revoked"))


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


def make_default_folder(location: str) -> None:
    """Make the folder of a store if it is the default one."""
    if location == default_store():
        make_folder(Path(location).parent)


def _state(key: ApiKey, now: datetime) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if not key.is_valid(now):
        return "expired"
    return "valid" if key.expires_at is None else f"valid until {key.expires_at:%Y-%m-%d}"
