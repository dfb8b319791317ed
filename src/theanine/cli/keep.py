"""Commands that change or copy a store: remember, forget, export, reembed."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from theanine.cli.look import Store, User


def remember(user: str | None = None, store: Store = "memory.db") -> None:
    """Remember every session that ended and waits; resumes what failed before."""
    import theanine

    with theanine.open(store) as agent:
        reports = agent.remember(user)
    for report in reports:
        what = report.failure or f"{report.memories} memories, {report.links} links"
        print(f"{report.scope}  session {report.session}: {what}")
    if any(report.failure for report in reports):
        raise typer.Exit(1)


def forget(
    user: User,
    session: Annotated[int | None, typer.Option(help="Only this session.")] = None,
    memory: Annotated[int | None, typer.Option(help="Only this memory and its turns.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    store: Store = "memory.db",
) -> None:
    """Erase a user, a session or one memory from every file of the store."""
    import theanine

    if not yes:
        typer.confirm("This can't be undone. Erase it?", abort=True)
    with theanine.open(store) as agent:
        receipt = agent.forget(user, session=session, memory=memory)
    print(
        f"erased {receipt.sessions} sessions, {receipt.turns} turns, {receipt.memories} memories, "
        f"{receipt.links} links, {receipt.vectors} vectors, {receipt.journal} journal entries"
    )
    for kept in receipt.kept:
        print(f"kept: {kept}")
    print("verified gone from every file" if receipt.verified else "NOT verified: run it again")


def export(user: str | None = None, store: Store = "memory.db") -> None:
    """Write everything to standard output, as JSON Lines that `theanine import` takes back."""
    import theanine

    with theanine.open(store) as agent:
        for record in agent.export(user):
            sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")


def reembed(embedder: str = "local", store: Store = "memory.db") -> None:
    """Move all vectors to another embedder; stopped, it goes on where it was."""
    import theanine

    with theanine.open(store, embedder=embedder) as agent:
        print(f"{agent.reembed()} vectors made by {agent.embedder_name}")
