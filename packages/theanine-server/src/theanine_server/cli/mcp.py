"""Serve a user's memory to clients of the Model Context Protocol."""

from __future__ import annotations

from typing import Annotated

import anyio
import typer

from theanine.cli.memory_options import MemoryOptions
from theanine.cli.options import expand_options
from theanine.errors import MissingExtra, SettingsError


@expand_options
def mcp(
    options: MemoryOptions,
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP at /mcp, with keys of `theanine keys`.")
    ] = False,
    host: Annotated[
        str, typer.Option(envvar="THEANINE_HOST", metavar="ADDRESS", help="Address for --http.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(envvar="THEANINE_PORT", min=0, max=65_535, help="Port for --http.")
    ] = 8321,
    dev: Annotated[
        bool,
        typer.Option("--dev", help="Ask for no key with --http; only this machine may connect."),
    ] = False,
    tools: Annotated[
        bool, typer.Option("--tools", help="Print the tools and the tokens that their list takes.")
    ] = False,
) -> None:
    """Serve a user's memory to clients of the Model Context Protocol.

    Clients that start a program talk with it on standard input and output, where nothing else is
    printed. With --http, keys say whose memory it is; `theanine serve` has the same at /mcp.

    \b
    theanine mcp --user ana
    theanine mcp --user ana --url https://memory.example
    theanine mcp --http --port 8400
    theanine mcp --tools
    """
    try:
        from theanine_server.mcp.server import build_server, count_tools
    except ModuleNotFoundError as error:
        raise MissingExtra("mcp", "theanine mcp") from error
    if http:
        if options.url:
            raise SettingsError("--http serves a store; leave --url out")
        from theanine_server.cli.serve import run_service  # loads what a pipe doesn't need

        run_service(options.open_options(), host=host, port=port, dev=dev, only_mcp=True)
        return
    client = options.client()
    memory = client.user(options.user_name, agent=options.agent)
    server = build_server(lambda context, access: memory)
    if tools:
        from theanine.cli.rendering import show_table  # rich takes long to load

        counts = anyio.run(count_tools, server)
        show_table(["tool", "tokens"], [*counts.items(), ("all", sum(counts.values()))])
        return

    async def serve() -> None:
        async with client:
            await server.run_stdio_async()

    anyio.run(serve)
