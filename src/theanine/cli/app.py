"""The commands, put together."""

from __future__ import annotations

import typer

from theanine.cli import (
    bench,
    chat,
    compare,
    doctor,
    histories,
    keep,
    look,
    rate,
    rebuild,
    recall,
    teafarm,
)
from theanine.cli.runs import answers, data, diff, judge, memory, pairwise, report, rescore, tables

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
app.command(name="import")(histories.import_)
app.command()(recall.recall)
for command in (look.memories, look.timeline, look.sessions, look.cost):
    app.command()(command)
for command in (keep.remember, keep.forget, keep.export, keep.reembed):
    app.command()(command)
app.command()(rebuild.rebuild)
app.command()(compare.compare)
app.command()(rate.rate)
app.command()(doctor.doctor)
app.add_typer(bench.bench, name="bench")
app.add_typer(teafarm.teafarm, name="teafarm")
for command in (
    answers.qa,
    answers.responses,
    diff.diff,
    data.data,
    data.fetch,
    judge.judge,
    memory.memory,
    pairwise.pairwise,
    report.report,
    rescore.rescore,
    tables.tables,
):
    bench.bench.command()(command)
