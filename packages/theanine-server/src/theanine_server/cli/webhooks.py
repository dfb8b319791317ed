"""Create, list, test and delete webhooks of the service."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import anyio
import sqlalchemy as sa
import typer

from theanine.cli.options import JsonOption, StoreOption, WebhookAllowOption, default_store
from theanine.cli.output import show_json
from theanine.cli.rendering import show_table
from theanine.cli.text import visible
from theanine.clock import system_clock
from theanine.errors import BadInput
from theanine.store.sql import webhooks as stored
from theanine.store.sql.outbox import add_test
from theanine.store.sql.webhooks import WEBHOOK_KINDS, Delivery, DeliveryState, Webhook
from theanine_server.cli.stores import run_in_store

webhooks = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Create, list, test and delete webhooks of the service.",
)

TenantOption = Annotated[str, typer.Option(metavar="NAME", help="Tenant whose webhooks are meant.")]
IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Id of the webhook, from `webhooks list`.")
]


@webhooks.command()
def create(
    name: Annotated[str, typer.Option(metavar="TEXT", help="What the webhook is for.")],
    url: Annotated[
        str, typer.Option(metavar="URL", help="Where messages are sent: https://, on the internet.")
    ],
    store: StoreOption = "",
    tenant: TenantOption = "default",
    user: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this user's changes.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this agent's changes.")
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help=f"One of {', '.join(WEBHOOK_KINDS)}; repeatable (default: all).",
        ),
    ] = None,
    webhook_allow: WebhookAllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a webhook and print its secret; it can't be shown again.

    \b
    theanine webhooks create --name crm --url https://example.com/memory
    theanine webhooks create --name crm --url https://example.com/memory --kind memories.made
    """
    from theanine_server.webhooks.guard import Guard  # brings an HTTP client

    anyio.run(Guard(webhook_allow or ()).check, url)
    work = partial(
        stored.create_webhook,
        tenant=tenant,
        name=name,
        url=url,
        kinds=kind or WEBHOOK_KINDS,
        at=system_clock(),
        user=user,
        agent=agent,
    )
    webhook, secret = run_in_store(store or default_store(), work, create=True)
    if as_json:
        show_json({"webhook": webhook, "secret": secret})
    else:
        print(secret)


@webhooks.command("list")
def list_(
    store: StoreOption = "", tenant: TenantOption = "default", as_json: JsonOption = False
) -> None:
    """List webhooks, without their secrets.

    \b
    theanine webhooks list
    """
    found: list[Webhook] = run_in_store(
        store or default_store(), partial(stored.load_webhooks, tenant=tenant)
    )
    if as_json:
        show_json(found)
    elif not found:
        print("There are no webhooks; `theanine webhooks create` makes one.")
    else:
        show_table(
            ["id", "name", "url", "user", "agent", "kinds", "state", "waiting"],
            (
                [
                    webhook.id,
                    visible(webhook.name),
                    visible(webhook.url),
                    visible(webhook.user or "all"),
                    visible(webhook.agent or "all"),
                    "all" if webhook.kinds == WEBHOOK_KINDS else ", ".join(webhook.kinds),
                    _state(webhook),
                    webhook.waiting,
                ]
                for webhook in found
            ),
        )


@webhooks.command()
def delete(webhook: IdArgument, store: StoreOption = "", tenant: TenantOption = "default") -> None:
    """Delete a webhook, with all that waits for it.

    \b
    theanine webhooks delete 3f9a1c0d2b4e6f88
    """
    work = partial(stored.delete_webhook, tenant=tenant, webhook=webhook)
    deleted: Webhook = run_in_store(store or default_store(), work)
    print(visible(f"webhook {deleted.id} ({deleted.name}) is deleted"))


@webhooks.command("test")
def send_test(
    webhook: IdArgument, store: StoreOption = "", tenant: TenantOption = "default"
) -> None:
    """Have a message of the kind webhook.test sent by a running service or worker.

    \b
    theanine webhooks test 3f9a1c0d2b4e6f88
    """

    def add(db: sa.Connection) -> Delivery:
        if why := stored.load_webhook(db, tenant, webhook).disabled:
            raise BadInput(f"the webhook is disabled ({why}); enable it over HTTP first")
        return add_test(db, tenant, webhook)

    added: Delivery = run_in_store(store or default_store(), add)
    print(f"{added.id} waits; `theanine webhooks deliveries {webhook}` shows what becomes of it")


@webhooks.command()
def deliveries(
    webhook: IdArgument,
    store: StoreOption = "",
    tenant: TenantOption = "default",
    state: Annotated[
        DeliveryState | None, typer.Option(help="Only those that wait, came or failed.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of messages.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List messages to a webhook of the last seven days, the newest first.

    \b
    theanine webhooks deliveries 3f9a1c0d2b4e6f88
    theanine webhooks deliveries 3f9a1c0d2b4e6f88 --state failed
    """

    def read(db: sa.Connection) -> list[Delivery]:
        stored.load_webhook(db, tenant, webhook)
        return stored.list_deliveries(db, webhook, state, None, limit)

    found: list[Delivery] = run_in_store(store or default_store(), read)
    if as_json:
        show_json(found)
    elif not found:
        print("There are no such messages.")
    else:
        show_table(
            ["id", "kind", "state", "tries", "status", "next try", "error"],
            (
                [
                    delivery.id,
                    delivery.kind,
                    delivery.state,
                    delivery.tries or "",
                    delivery.status or "",
                    f"{delivery.next_try_at:%Y-%m-%d %H:%M:%S} UTC" if delivery.next_try_at else "",
                    delivery.error,
                ]
                for delivery in found
            ),
        )


def _state(webhook: Webhook) -> str:
    if webhook.disabled is not None:
        return f"disabled ({webhook.disabled})"
    if webhook.failing_since is not None:
        return f"failing since {webhook.failing_since:%Y-%m-%d %H:%M} UTC"
    return "enabled"
