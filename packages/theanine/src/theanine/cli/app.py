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
    LazyCommand("chat", "theanine.cli.chat:chat", "Talk in the terminal; the next run remembers."),
    LazyCommand(
        "import",
        "theanine.cli.import_:import_",
        "Take in real histories with their own dates, speakers and order, and remember them.",
    ),
    LazyCommand(
        "recall",
        "theanine.cli.recall:recall",
        "Bring back what matters for a question, with its sources.",
    ),
    LazyCommand(
        "memories", "theanine.cli.inspection:memories", "List what is remembered of a user."
    ),
    LazyCommand(
        "timeline",
        "theanine.cli.inspection:timeline",
        "Show how memories follow from each other, as trees with relations and dates.",
    ),
    LazyCommand(
        "sessions",
        "theanine.cli.inspection:sessions",
        "List a user's sessions and whether they are remembered; or all users and theirs.",
    ),
    LazyCommand(
        "cost",
        "theanine.cli.inspection:cost",
        "Show what the language model was asked, by user and step, and what it cost.",
    ),
    LazyCommand(
        "remember",
        "theanine.cli.maintenance:remember",
        "Remember every session that ended and waits; resumes what failed or was cut off.",
    ),
    LazyCommand(
        "forget",
        "theanine.cli.maintenance:forget",
        "Erase a user, a session or one memory from every file of the store.",
    ),
    LazyCommand(
        "export",
        "theanine.cli.maintenance:export",
        "Write everything to standard output, as JSON Lines that `theanine import` takes back.",
    ),
    LazyCommand(
        "reembed",
        "theanine.cli.maintenance:reembed",
        "Move all vectors to another embedder while the store is in use; resumable.",
    ),
    LazyCommand(
        "rebuild",
        "theanine.cli.rebuild:rebuild",
        "Remember all that was ever said by a method, beside what other methods made of it.",
    ),
    LazyCommand(
        "doctor",
        "theanine.cli.doctor:doctor",
        "Check the store, the embedder, the reranker and the model, and say how to mend what is "
        "wrong.",
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
        "Lifelong memory for conversational agents. Begin with `theanine demo`.",
    )


app = build_app()
