"""Open the page: what is remembered, why, and how it changed."""

from __future__ import annotations

import asyncio
import socket
import webbrowser
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from secrets import token_urlsafe
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

import typer

import theanine
from theanine.cli.options import (
    HostedOptions,
    expand_options,
    known_user,
    make_default_folder,
    require_store,
)
from theanine.client import AsyncClient, Client
from theanine.demo import HARBOUR
from theanine.errors import TheanineError
from theanine.importers import read_histories
from theanine.methods.registry import stored_method
from theanine.types import Scope
from theanine_server.cli.serve import check_store, listen

if TYPE_CHECKING:
    from theanine_server.state import ServerState

HOST = "127.0.0.1"
GRACE = 1
"""Seconds that requests have to end when the page is closed."""


@expand_options
def open_page(
    options: HostedOptions,
    user: Annotated[
        str,
        typer.Option(
            "--user",
            "-u",
            envvar="THEANINE_USER",
            metavar="NAME",
            help="User to show first (default: the only one, or the first).",
            show_default=False,
        ),
    ] = "",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port on this machine; 0 is any free one.")
    ] = 0,
    demo: Annotated[
        bool, typer.Option("--demo", help="Show a bundled conversation instead of a store.")
    ] = False,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the link, and open no browser.")
    ] = False,
) -> None:
    """Open the page: what is remembered, why, and how it changed.

    Only this machine can reach it, and only the browser that opens the link, which works once. It
    runs until it is stopped with Ctrl+C.

    \b
    theanine open
    theanine open --demo
    theanine open --user ana --no-browser
    """
    import uvicorn  # only now: `open --help` doesn't need it

    from theanine_server import ServerOptions, create_app

    client = options.open_options()
    with ExitStack() as opened:
        if demo:
            folder = opened.enter_context(TemporaryDirectory())
            client = replace(client, location=_remember_demo(Path(folder)))
        else:
            if options.store:
                require_store(options.store)
            make_default_folder(str(client.location))
        check_store(client)
        if user:
            with Client(AsyncClient(client)) as asked:
                if user not in {scope.user for scope in asked.users()}:
                    known_user(asked, user)
        listening = opened.enter_context(listen(HOST, port))
        token = token_urlsafe(32)
        # In the fragment, which a browser sends to no server and writes to no log.
        fragment = urlencode({"user": user, "link": token} if user else {"link": token})
        link = f"http://{HOST}:{listening.getsockname()[1]}/#/?{fragment}"

        app = create_app(ServerOptions(client, link=token))

        class Server(uvicorn.Server):
            """Names the link once it is served, and reads ahead what the page will ask for."""

            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                if self.started:
                    self.ahead = asyncio.create_task(_read_ahead(app.state.server, user))
                    text = f"The page is at\n\n    {link}\n\nThe link works once. Ctrl+C stops it."
                    print(text, flush=True)
                    if not no_browser:
                        webbrowser.open(link)

        config = uvicorn.Config(
            app,
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=GRACE,
        )
        server = Server(config)
        server.run(sockets=[listening])
        if not server.started:
            raise typer.Exit(1)


async def _read_ahead(state: ServerState, user: str) -> None:
    """Make the graph that the page shows first while the browser starts."""
    with suppress(TheanineError):  # the page says what is wrong
        scopes = [Scope(user)] if user else await state.client.users()
        for scope in sorted(scopes, key=lambda scope: (scope.user, scope.agent))[:1]:
            method = stored_method(state.client.method_name)
            await state.graphs.read(scope, method, in_parts=True)


def _remember_demo(folder: Path) -> str:
    """Remember the bundled conversation in a store, and return its location."""
    location = str(folder / "demo.db")
    with theanine.open(location) as client:
        memory = client.user("ana")
        memory.log(read_histories(HARBOUR).histories[0])
        memory.remember()
    return location
