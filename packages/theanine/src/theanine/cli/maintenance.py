"""Commands that change or copy a store: remember, forget, export, reembed."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from theanine.cli.options import (
    EachUser,
    EmbedderOption,
    JsonOption,
    NamedUser,
    RememberOptions,
    StoreOption,
    YesOption,
    expand_options,
    open_client,
    user_or_all,
)
from theanine.cli.output import show_json
from theanine.cli.text import pluralize, visible


@expand_options
def remember(
    options: RememberOptions,
    user: EachUser = None,
    elsewhere: Annotated[
        bool,
        typer.Option(
            "--elsewhere",
            help="Also end sessions that other machines, such as a former container, left open. "
            "Use it only when none of them is still running.",
        ),
    ] = False,
) -> None:
    """Remember all ended sessions; resume what failed.

    \b
    theanine remember
    theanine remember --user ana --model openai:gpt-4o-mini
    """
    with options.open() as client:
        reports = user_or_all(client, user).remember(elsewhere=elsewhere)
    for report in reports:
        counts = f"{pluralize(report.memories, 'memories')}, {pluralize(report.links, 'links')}"
        notes = "".join(f" ({note})" for note in report.notes)
        result = report.failure or counts
        print(visible(f"{report.scope}, session {report.session}: {result}{notes}"))
    if not reports:
        print("No sessions to remember.")
    if any(report.failure for report in reports):
        raise typer.Exit(1)


def forget(
    user: NamedUser,
    session: Annotated[int | None, typer.Option(metavar="N", help="Only this session.")] = None,
    memory: Annotated[
        int | None, typer.Option(metavar="N", help="Only this memory and its source turns.")
    ] = None,
    yes: YesOption = False,
    store: StoreOption = "",
    as_json: JsonOption = False,
) -> None:
    """Erase a user, a session or a memory for good.

    \b
    theanine forget --user ana --session 3
    theanine forget --user ana --yes
    """
    if not yes:
        typer.confirm("This can't be undone. Erase it?", abort=True)
    with open_client(store) as client:
        report = client.user(user).forget(session=session, memory=memory)
    if as_json:
        show_json(report)
    else:
        erased = [
            pluralize(report.sessions, "sessions"),
            pluralize(report.turns, "turns"),
            pluralize(report.memories, "memories"),
            pluralize(report.links, "links"),
            pluralize(report.vectors, "vectors"),
        ]
        calls = pluralize(report.journal, "model calls")
        print(f"erased {', '.join(erased)}, the text of {calls}")
        for reason in report.kept:
            print(f"kept: {reason}")
        if report.pending_again:
            sessions = pluralize(report.pending_again, "other sessions")
            print(
                f"memories of {sessions} were derived from that and are erased too; "
                "`theanine remember` remembers those sessions again"
            )
        print(
            "verified gone from every file"
            if report.verified
            else "NOT verified: a reader, such as an export, still holds it; it is removed from "
            "the files when that ends, or when the store is next opened"
        )
    if not report.verified:
        raise typer.Exit(1)


def export(user: EachUser = None, store: StoreOption = "") -> None:
    """Write everything as JSON Lines that `theanine import` restores.

    \b
    theanine export > all.jsonl
    theanine import all.jsonl --store elsewhere.db
    """
    with open_client(store) as client:
        for record in user_or_all(client, user).export():
            sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")


def reembed(embedder: EmbedderOption = "local", store: StoreOption = "") -> None:
    """Move all vectors to another embedder; resumable.

    \b
    theanine reembed --embedder openai:text-embedding-3-small
    """

    def show_remaining(count: int) -> None:
        if count:
            print(f"{pluralize(count, 'vectors')} left to make", file=sys.stderr)

    with open_client(store, embedder=embedder) as client:
        count = client.reembed(show_remaining)
        print(f"{pluralize(count, 'vectors')} made by {client.embedder_name}")
