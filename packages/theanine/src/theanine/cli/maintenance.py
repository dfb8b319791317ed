"""Commands that change or copy a store: remember, forget, export, reembed."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from theanine.cli.options import (
    BaseUrlOption,
    EachUser,
    EmbedderOption,
    JsonOption,
    MethodOption,
    ModelOption,
    SettingsOption,
    StoreOption,
    UserOption,
    notify_if_local,
    open_client,
    show_json,
)
from theanine.cli.rendering import pluralize, visible


def remember(
    user: EachUser = None,
    store: StoreOption = "",
    model: ModelOption = "local",
    base_url: BaseUrlOption = None,
    embedder: EmbedderOption = "local",
    method: MethodOption = None,
    settings: SettingsOption = None,
    elsewhere: Annotated[
        bool,
        typer.Option(
            "--elsewhere",
            help="Also end what other machines, such as a former container, left open; only when "
            "none of them still talks.",
        ),
    ] = False,
) -> None:
    """Remember every session that ended and waits; resumes what failed or was cut off.

    \b
    theanine remember
    theanine remember --user ana --model openai:gpt-4o-mini
    """
    with open_client(store, model, base_url, embedder, method, settings) as agent:
        notify_if_local(model, base_url)
        reports = agent.remember(user, elsewhere=elsewhere)
    for report in reports:
        made = f"{pluralize(report.memories, 'memories')}, {pluralize(report.links, 'links')}"
        what = report.failure or made
        notes = "".join(f" ({note})" for note in report.notes)
        print(visible(f"{report.scope}, session {report.session}: {what}{notes}"))
    if not reports:
        print("nothing waits")
    if any(report.failure for report in reports):
        raise typer.Exit(1)


def forget(
    user: UserOption,
    session: Annotated[int | None, typer.Option(metavar="N", help="Only this session.")] = None,
    memory: Annotated[
        int | None, typer.Option(metavar="N", help="Only this memory and its turns.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    store: StoreOption = "",
    as_json: JsonOption = False,
) -> None:
    """Erase a user, a session or one memory from every file of the store.

    \b
    theanine forget --user ana --session 3
    theanine forget --user ana --yes
    """
    from dataclasses import asdict

    if not yes:
        typer.confirm("This can't be undone. Erase it?", abort=True)
    with open_client(store) as agent:
        receipt = agent.forget(user, session=session, memory=memory)
    if as_json:
        show_json(asdict(receipt))
    else:
        print(
            f"erased {pluralize(receipt.sessions, 'sessions')}, "
            f"{pluralize(receipt.turns, 'turns')}, "
            f"{pluralize(receipt.memories, 'memories')}, {pluralize(receipt.links, 'links')}, "
            f"{pluralize(receipt.vectors, 'vectors')}, "
            f"the words of {pluralize(receipt.journal, 'model calls')}"
        )
        for kept in receipt.kept:
            print(f"kept: {kept}")
        if receipt.anew:
            print(
                f"{pluralize(receipt.anew, 'other sessions')} had memories made of that; these are "
                "gone too, and `theanine remember` makes them anew from what is left"
            )
        print(
            "verified gone from every file"
            if receipt.verified
            else "NOT verified: a reader, such as an export, still holds it; it goes from the "
            "files when that ends, or when the store is opened next"
        )
    if not receipt.verified:
        raise typer.Exit(1)


def export(user: EachUser = None, store: StoreOption = "") -> None:
    """Write everything to standard output, as JSON Lines that `theanine import` takes back.

    \b
    theanine export > all.jsonl
    theanine import all.jsonl --store elsewhere.db
    """
    with open_client(store) as agent:
        for record in agent.export(user):
            sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")


def reembed(
    embedder: EmbedderOption = "local",
    store: StoreOption = "",
) -> None:
    """Move all vectors to another embedder while the store is in use; resumable.

    \b
    theanine reembed --embedder openai:text-embedding-3-small
    """
    with open_client(store, embedder=embedder) as agent:
        made = agent.reembed(_tell_left)
        print(f"{pluralize(made, 'vectors')} made by {agent.embedder_name}")


def _tell_left(left: int) -> None:
    if left:
        print(f"{pluralize(left, 'vectors')} still to be made", file=sys.stderr)
