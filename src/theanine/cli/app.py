"""The commands."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from theanine.cli import keep, look
from theanine.cli.look import Store, User

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Lifelong memory for agents.")

for command in (
    look.memories, look.sessions, look.timeline, look.cost,
    keep.remember, keep.forget, keep.export, keep.reembed,
):  # fmt: skip
    app.command()(command)


@app.command()
def demo() -> None:
    """Remember a bundled conversation, show its timelines, answer five questions with sources."""
    import theanine
    from theanine.demo import HARBOUR, questions
    from theanine.formats import read_histories

    with TemporaryDirectory() as folder, theanine.open(f"{folder}/demo.db") as agent:
        agent.log(read_histories(HARBOUR).histories[0], "ana")
        with typer.progressbar(length=len(agent.pending("ana")), label="remembering") as bar:
            agent.remember("ana", progress=lambda _: bar.update(1))
        for line in agent.timelines("ana")[:5]:
            look.show_timeline(line)
        for question in questions():
            print(f"\nQ  {question.question}")
            _show(agent, question.question, "ana")


@app.command(name="import")
def import_(files: list[Path], store: Store = "memory.db", user: str | None = None) -> None:
    """Log real histories, keeping their dates and speakers, and remember them."""
    import theanine
    from theanine.formats import is_dump, read_histories

    with theanine.open(store) as agent:
        for file in files:
            if is_dump(file):
                lines = file.read_text("utf-8").splitlines()
                print(f"{agent.restore([json.loads(line) for line in lines])} new records")
                continue
            for history in read_histories(file).histories:
                done = agent.log(history, user)
                agent.remember(done.user)
                print(f"{done.user}: {done.sessions_new} new sessions, {done.turns_new} new turns")


@app.command()
def recall(question: str, user: User, store: Store = "memory.db") -> None:
    """Bring back what matters for a question, with its sources."""
    import theanine

    with theanine.open(store) as agent:
        agent.sessions(user)  # an unknown user is an error, not an empty memory
        _show(agent, question, user)


def _show(agent: object, question: str, user: str) -> None:
    from theanine.sync import Agent

    assert isinstance(agent, Agent)
    found = agent.recall(question, user)
    for part in found.parts:
        print(f"   {part.text}")
    for turn in found.sources:
        print(f"     source: turn {turn.id}, {turn.at:%d %b %Y}, {turn.speaker}")
