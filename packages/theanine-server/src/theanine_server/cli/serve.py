"""Serve memory over HTTP to applications."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from functools import partial
from logging.config import dictConfig
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from theanine.cli.options import (
    HostedOptions,
    HostOption,
    MetricsPortOption,
    WebhookAllowOption,
    expand_options,
    make_default_folder,
)
from theanine.client import AsyncClient, Client, OpenOptions
from theanine.clock import system_clock
from theanine.errors import SettingsError
from theanine.store.sql.api_keys import load_keys
from theanine.store.sql.audit import load_pseudonyms
from theanine.temporary_folders import remove_leftovers, temporary_folder
from theanine_server.cli.stores import run_in_store

if TYPE_CHECKING:
    from fastapi import FastAPI

    from theanine_server import ServerOptions

_log = logging.getLogger("theanine_server")

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

GRACE = 30
"""Seconds that requests have to end when the service is stopped."""


@expand_options
def serve(
    options: HostedOptions,
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

    Raises SettingsError for ``dev`` on an address that others can reach and for a
    port that is taken, and what keeps the store from being opened.
    """
    remove_leftovers()
    if metrics_port is not None and processes > 1:
        _share_metrics()
    # Only now: `serve --help` doesn't need them, and metrics look for their folder when imported.
    import uvicorn

    from theanine_server import ServerOptions
    from theanine_server.access import is_loopback
    from theanine_server.connections import HttpProtocol
    from theanine_server.logs import log_config
    from theanine_server.metrics import serve_metrics
    from theanine_server.processes import SILENCE, Processes
    from theanine_server.webhooks.guard import Guard

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
    from theanine_server import create_app

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
