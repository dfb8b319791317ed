"""Create, list and revoke keys of the service."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Annotated

import typer

from theanine.cli.options import JsonOption, StoreOption, default_store
from theanine.cli.output import show_json
from theanine.cli.text import visible
from theanine.clock import system_clock
from theanine.store.sql.api_keys import RIGHTS, ApiKey, create_key, load_keys, revoke_key
from theanine_server.cli.stores import run_in_store

keys = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="Create, list and revoke keys of the service."
)


@keys.command()
def create(
    name: Annotated[str, typer.Option(metavar="TEXT", help="What the key is for.")],
    store: StoreOption = "",
    tenant: Annotated[
        str, typer.Option(metavar="NAME", help="Tenant whose data it opens.")
    ] = "default",
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Only this user's data.")] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this agent's data.")
    ] = None,
    right: Annotated[
        list[str] | None,
        typer.Option(metavar="RIGHT", help=f"One of {', '.join(RIGHTS)}; repeatable."),
    ] = None,
    rate: Annotated[int | None, typer.Option(min=1, help="Requests a minute.")] = None,
    days: Annotated[int | None, typer.Option(min=1, help="Days until it expires.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a key and print it; it can't be shown again.

    Without --right it may read and write. A key with the right reply has the service's model
    reply, at the operator's cost.

    \b
    theanine keys create --name app
    theanine keys create --name dashboard --right read --user ana --days 30
    """
    now = system_clock()
    work = partial(
        create_key,
        name=name,
        at=now,
        tenant=tenant,
        user=user,
        agent=agent,
        rights=right or ("read", "write"),
        rate=rate,
        expires_at=None if days is None else now + timedelta(days=days),
    )
    key, token = run_in_store(store or default_store(), work, create=True)
    if as_json:
        show_json({"token": token, "key": key})
    else:
        print(token)


@keys.command("list")
def list_(
    store: StoreOption = "",
    tenant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this tenant's (default: all).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List keys, without their secrets.

    \b
    theanine keys list
    """
    found: list[ApiKey] = run_in_store(store or default_store(), partial(load_keys, tenant=tenant))
    if as_json:
        show_json(found)
    elif not found:
        print("There are no keys; `theanine keys create` makes one.")
    else:
        from theanine.cli.rendering import show_table  # rich takes long to load

        show_table(
            ["id", "name", "tenant", "user", "agent", "rights", "requests a minute", "state"],
            (
                [
                    key.id,
                    visible(key.name),
                    visible(key.tenant),
                    visible(key.user or "all"),
                    visible(key.agent or "all"),
                    ", ".join(key.rights),
                    key.rate or "",
                    _state(key, system_clock()),
                ]
                for key in found
            ),
        )


@keys.command()
def revoke(
    key: Annotated[str, typer.Argument(metavar="ID", help="Id of the key, from `keys list`.")],
    store: StoreOption = "",
) -> None:
    """Revoke a key and those that it made; a running service refuses them within five seconds.

    \b
    theanine keys revoke 3f9a1c0d2b4e6f88
    """
    revoked: list[ApiKey] = run_in_store(
        store or default_store(), partial(revoke_key, key=key, at=system_clock())
    )
    for each in revoked:
        print(visible(f"key {each.id} ({each.name}) is revoked"))


def _state(key: ApiKey, now: datetime) -> str:
    if key.revoked_at is not None:
        return "revoked"
    if not key.is_valid(now):
        return "expired"
    return "valid" if key.expires_at is None else f"valid until {key.expires_at:%Y-%m-%d}"
