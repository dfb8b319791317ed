"""List who read, changed and erased over HTTP, the newest first."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import sqlalchemy as sa
import typer

from theanine.cli.options import StoreOption, default_store, expand_options
from theanine.cli.output import FormatOptions
from theanine.cli.rendering import show_table
from theanine.cli.text import visible
from theanine.client.options import read_moment
from theanine.clock import system_clock
from theanine.errors import SettingsError
from theanine.store.sql.audit import (
    Action,
    AuditEntry,
    AuditFilter,
    list_entries,
    load_pseudonyms,
)
from theanine_server.cli.stores import run_in_store


@expand_options
def audit(
    output: FormatOptions,
    store: StoreOption = "",
    tenant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this tenant's (default: all).")
    ] = None,
    user: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only about this user; needs --tenant.")
    ] = None,
    key: Annotated[str | None, typer.Option(metavar="ID", help="Only of this key.")] = None,
    action: Annotated[
        Action | None, typer.Option(help="Only what was read, changed or erased.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only from this day or time on.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only up to this day or time.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of entries.")] = 100,
) -> None:
    """List who read, changed and erased over HTTP, the newest first.

    Users are named by pseudonyms, which `--user` finds also after they were forgotten.

    \b
    theanine audit --action erase --since "last week"
    theanine audit --tenant default --user ana
    """
    now = system_clock()
    wanted = AuditFilter(
        tenant=tenant,
        key=key,
        action=action,
        since=read_moment("since", since, now),
        until=read_moment("until", until, now, end=True),
    )
    if user is not None and tenant is None:
        raise SettingsError("users of several tenants may have one name: name the --tenant, too")

    def read(db: sa.Connection) -> list[AuditEntry]:
        named = wanted
        if user is not None and tenant is not None:
            named = replace(wanted, user=load_pseudonyms(db).get(tenant, user))
        return list_entries(db, named, limit)

    entries = run_in_store(store or default_store(), read)
    if output:
        output.show(entries)
    elif not entries:
        print("There are no such entries.")
    else:
        show_table(
            ["time", "tenant", "key", "user", "agent", "action", "request", "status"],
            (
                [
                    f"{entry.at:%Y-%m-%d %H:%M:%S}",
                    visible(entry.tenant),
                    entry.key,
                    entry.user or "",
                    visible(entry.agent or ""),
                    entry.action,
                    entry.request,
                    entry.status,
                ]
                for entry in entries
            ),
        )
