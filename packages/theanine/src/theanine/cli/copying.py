"""``theanine copy``: copy a store into another file or database, and compare both."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Annotated

import typer

from theanine.cli.options import EachUser, JsonOption
from theanine.cli.output import progress, resumable, show_json
from theanine.cli.text import pluralize, visible
from theanine.client.copying import copy_store
from theanine.store.copy import CopyReport, ScopeCopy

MAX_NAMED = 10
"""Users that one line names."""


def copy(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="Store to copy, a file or postgresql://…")
    ],
    destination: Annotated[
        str, typer.Argument(metavar="DST", help="Where to; created if there is no store.")
    ],
    user: EachUser = None,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only what this agent has.")
    ] = None,
    tenant: Annotated[str | None, typer.Option(metavar="NAME", help="Only this tenant.")] = None,
    verify_only: Annotated[
        bool, typer.Option("--verify-only", help="Compare both stores, and copy nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Copy a store to another file or database, and verify that both are equal.

    Run it again after an interruption, or to bring over what has changed since. Nothing comes back
    that was forgotten at the destination. Exits with 1 if the destination lacks something.

    \b
    theanine copy memory.db postgresql://theanine@db.example.com/memory
    theanine copy postgresql://theanine@db.example.com/memory backup.db
    theanine copy memory.db other.db --user ana
    """
    with ExitStack() as stack, resumable():
        step: Callable[..., None] | None = None

        def show_progress(done: ScopeCopy, total: int) -> None:
            nonlocal step
            step = step or stack.enter_context(progress(total, "Comparing" * verify_only))
            step(str(done.scope))

        report = copy_store(
            source,
            destination,
            user=user,
            agent=agent,
            tenant=tenant,
            verify_only=verify_only,
            progress=show_progress,
        )
    if as_json:
        show_json(report)
    else:
        _show(report, verify_only=verify_only)
    for failed in report.failed:
        print(visible(str(failed)), file=sys.stderr)
    if report.failure:
        print(visible(f"settings of the store: {report.failure}"), file=sys.stderr)
    if not report.complete:
        raise typer.Exit(1)


def _show(report: CopyReport, *, verify_only: bool) -> None:
    equal = pluralize(report.copied + report.present, "users")
    copied = "" if verify_only else f"; {report.copied:,} copied now"
    print(f"Equal in both stores: {equal}, {pluralize(report.records, 'records')}{copied}")
    for what, scopes in (
        ("Kept, because the destination has later changes", report.newer),
        ("Left out, because the destination has forgotten them", report.forgotten),
        ("Changed while this ran, so run it again", report.changed),
    ):
        if scopes:
            names = ", ".join(map(str, scopes[:MAX_NAMED]))
            more = f" and {len(scopes) - MAX_NAMED:,} more" * (len(scopes) > MAX_NAMED)
            print(visible(f"{what}: {names}{more}"))
    if report.erased:
        print(f"Erased, because the source has forgotten them: {pluralize(report.erased, 'users')}")
    if report.kept_settings:
        print(f"The destination keeps its own settings: {'; '.join(report.kept_settings)}")
