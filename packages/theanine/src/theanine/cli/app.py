"""The commands, put together."""

from __future__ import annotations

from importlib.metadata import entry_points

import typer

from theanine.cli import chat, doctor, import_, inspection, maintenance, rebuild, recall

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help: examples keep their lines, and it starts faster
    pretty_exceptions_enable=False,
    help="Lifelong memory for conversational agents. Begin with `theanine demo`.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command()(recall.demo)
app.command()(chat.chat)
app.command(name="import")(import_.import_)
app.command()(recall.recall)
for command in (inspection.memories, inspection.timeline, inspection.sessions, inspection.cost):
    app.command()(command)
for command in (maintenance.remember, maintenance.forget, maintenance.export, maintenance.reembed):
    app.command()(command)
app.command()(rebuild.rebuild)
app.command()(doctor.doctor)
for point in sorted(entry_points(group="theanine.commands"), key=lambda point: point.name):
    command = point.load()
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=point.name)
    else:
        app.command(name=point.name)(command)
