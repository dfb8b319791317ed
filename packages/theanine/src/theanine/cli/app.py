"""The list of commands: their names, where they are, and their one-line help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from theanine.cli.config_file import applied_config
from theanine.cli.lazy import LazyCommand, MissingCommand, PluginCommand, lazy_app
from theanine.cli.own_code import SHOW_TRACE
from theanine.errors import BENCH_INSTALLATION, MissingExtra, UserError

COMMANDS = (
    LazyCommand(
        "demo",
        "theanine.cli.recall:demo",
        "Remember a bundled conversation and answer questions from it.",
    ),
    LazyCommand(
        "chat", "theanine.cli.chat:chat", "Chat in the terminal; the next run remembers it."
    ),
    LazyCommand(
        "import",
        "theanine.cli.import_:import_",
        "Import conversations and remember them.",
    ),
    LazyCommand(
        "recall",
        "theanine.cli.recall:recall",
        "Recall what matters for a question, with its sources.",
    ),
    LazyCommand(
        "search",
        "theanine.cli.records:search",
        "Find turns and memories by meaning and words, the best first.",
    ),
    LazyCommand("add", "theanine.cli.records:add", "Log one thing that was said, and remember it."),
    LazyCommand("log", "theanine.cli.records:log", "List what was said, the latest last."),
    LazyCommand("memories", "theanine.cli.inspection:memories", "List a user's memories."),
    LazyCommand(
        "profile",
        "theanine.cli.inspection:profile",
        "Show what is known of a user: what holds, what changed, who comes up.",
    ),
    LazyCommand(
        "timeline",
        "theanine.cli.inspection:timeline",
        "Show what is remembered of each matter, in the order of time.",
    ),
    LazyCommand(
        "sessions",
        "theanine.cli.inspection:sessions",
        "List sessions and whether they are remembered.",
    ),
    LazyCommand(
        "cost",
        "theanine.cli.inspection:cost",
        "Show the language model's calls, tokens and cost.",
    ),
    LazyCommand(
        "remember",
        "theanine.cli.maintenance:remember",
        "Remember all ended sessions; resume what failed.",
    ),
    LazyCommand(
        "worker",
        "theanine.cli.worker:worker",
        "Remember what waits, of all users, until stopped.",
    ),
    LazyCommand(
        "pending",
        "theanine.cli.worker:pending",
        "List what waits to be remembered, failed or was set aside; retry or cancel it.",
    ),
    LazyCommand(
        "correct",
        "theanine.cli.records:correct",
        "Replace what a memory says; the old one stays, marked.",
    ),
    LazyCommand("pin", "theanine.cli.records:pin", "Have a memory in every recollection."),
    LazyCommand(
        "forget",
        "theanine.cli.maintenance:forget",
        "Erase a user, or a session, thread, memory or turn, for good.",
    ),
    LazyCommand(
        "export",
        "theanine.cli.maintenance:export",
        "Write everything as JSON Lines that `theanine import` restores.",
    ),
    LazyCommand(
        "copy",
        "theanine.cli.copying:copy",
        "Copy a store to another file or database, and verify that both are equal.",
    ),
    LazyCommand(
        "reembed",
        "theanine.cli.maintenance:reembed",
        "Move all vectors to another embedder; resumable.",
    ),
    LazyCommand(
        "rebuild",
        "theanine.cli.rebuild:rebuild",
        "Remember the whole log again, by any method.",
    ),
    LazyCommand(
        "install",
        "theanine.cli.coding_agents.install:install",
        "Give a coding agent the memory of a user.",
    ),
    LazyCommand(
        "hook",
        "theanine.cli.coding_agents.hook:hook",
        "Recall and record for a coding agent, whose hook this is.",
    ),
    LazyCommand("db", "theanine.cli.database:db", "Change the database of a store."),
    LazyCommand("config", "theanine.cli.config:config", "Show or change the defaults of options."),
    LazyCommand(
        "methods",
        "theanine.cli.methods:methods",
        "List the methods that are installed, and the settings of one.",
    ),
    LazyCommand(
        "doctor",
        "theanine.cli.doctor:doctor",
        "Check the store and the models, and suggest fixes.",
    ),
)

BENCH_COMMANDS = ("bench", "compare", "rate", "teafarm")
SERVER_COMMANDS = {
    "audit": "server",
    "keys": "server",
    "mcp": "mcp",
    "open": "server",
    "serve": "server",
    "webhooks": "server",
}
"""The commands of theanine-server, with the extra that installs what each needs."""


def _show_version(shown: bool) -> None:
    if shown:
        from importlib.metadata import version

        print(f"theanine {version('theanine')}")
        raise typer.Exit


def root(
    context: typer.Context,
    profile: Annotated[
        str,
        typer.Option(
            envvar="THEANINE_PROFILE", metavar="NAME", help="Profile of `theanine config`."
        ),
    ] = "",
    debug: Annotated[
        bool,
        typer.Option(
            "--debug",
            envvar="THEANINE_DEBUG",
            help="Show the trace of an error.",
        ),
    ] = False,
    _version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version."),
    ] = False,
) -> None:
    """Take the defaults of options from the configuration file."""
    SHOW_TRACE.set(debug)
    context.with_resource(applied_config(profile))


def build_app() -> typer.Typer:
    """Return the command line with the commands of all installed packages.

    A command of another package never replaces one of this package.
    """
    return lazy_app(
        COMMANDS,
        "Lifelong memory for conversational agents. Start with `theanine demo`.",
        root=root,
        find_others=_find_others,
    )


def _find_others() -> Iterator[LazyCommand]:
    """Yield the commands of other packages, and hints at those that are not installed."""
    from importlib.metadata import entry_points  # reads a file of each package that is installed

    own = {command.name for command in COMMANDS}
    plugins = {
        point.name: PluginCommand(point)
        for point in entry_points(group="theanine.commands")
        if point.name not in own
    }
    yield from (plugins[name] for name in sorted(plugins))
    for name in BENCH_COMMANDS:
        if name not in plugins:
            where = f"`theanine {name}` is in the package theanine-bench: {BENCH_INSTALLATION}"
            yield MissingCommand(name, UserError(where))
    for name, extra in SERVER_COMMANDS.items():
        if name not in plugins:
            yield MissingCommand(name, MissingExtra(extra, f"`theanine {name}`"))


app = build_app()
