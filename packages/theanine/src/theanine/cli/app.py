"""The list of commands: their names, where they are, and their one-line help."""

from __future__ import annotations

from importlib.metadata import entry_points

import typer

from theanine.cli.lazy import LazyCommand, MissingCommand, PluginCommand, lazy_app

COMMANDS = (
    LazyCommand(
        "demo",
        "theanine.cli.recall:demo",
        "Remember a bundled conversation, show its timelines, answer five questions with sources.",
    ),
    LazyCommand(
        "chat", "theanine.cli.chat:chat", "Chat in the terminal; the next run remembers it."
    ),
    LazyCommand(
        "import",
        "theanine.cli.import_:import_",
        "Import conversations with their own dates, speakers and order, and remember them.",
    ),
    LazyCommand(
        "recall",
        "theanine.cli.recall:recall",
        "Recall what matters for a question, with its sources.",
    ),
    LazyCommand("memories", "theanine.cli.inspection:memories", "List a user's memories."),
    LazyCommand(
        "timeline",
        "theanine.cli.inspection:timeline",
        "Show how memories follow from each other, as trees with relations and dates.",
    ),
    LazyCommand(
        "sessions",
        "theanine.cli.inspection:sessions",
        "List sessions and whether they are remembered, of one user or of all.",
    ),
    LazyCommand(
        "cost",
        "theanine.cli.inspection:cost",
        "Show the language model's calls, tokens and cost by user and step.",
    ),
    LazyCommand(
        "remember",
        "theanine.cli.maintenance:remember",
        "Remember all ended sessions; resume what failed or was interrupted.",
    ),
    LazyCommand(
        "forget",
        "theanine.cli.maintenance:forget",
        "Erase a user, a session or one memory from every file of the store.",
    ),
    LazyCommand(
        "export",
        "theanine.cli.maintenance:export",
        "Write everything to standard output as JSON Lines that `theanine import` restores.",
    ),
    LazyCommand(
        "reembed",
        "theanine.cli.maintenance:reembed",
        "Move all vectors to another embedder while the store is in use; resumable.",
    ),
    LazyCommand(
        "rebuild",
        "theanine.cli.rebuild:rebuild",
        "Remember the whole log by a method, alongside the memories of other methods.",
    ),
    LazyCommand(
        "doctor",
        "theanine.cli.doctor:doctor",
        "Check the store, the embedder, the reranker and the model, and suggest fixes.",
    ),
)

BENCH_COMMANDS = ("bench", "compare", "rate", "teafarm")


def build_app() -> typer.Typer:
    """Return the command line with the commands of all installed packages.

    A command of another package never replaces one of this package.
    """
    own = {command.name for command in COMMANDS}
    plugins = {
        point.name: PluginCommand(point)
        for point in entry_points(group="theanine.commands")
        if point.name not in own
    }
    missing = [
        MissingCommand(name, "theanine-bench") for name in BENCH_COMMANDS if name not in plugins
    ]
    return lazy_app(
        [*COMMANDS, *(plugins[name] for name in sorted(plugins)), *missing],
        "Lifelong memory for conversational agents. Start with `theanine demo`.",
    )


app = build_app()
