"""Webhooks of the caller's tenant: URLs that receive messages about changes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field

from theanine.store.sql import webhooks as stored
from theanine.store.sql.outbox import add_test
from theanine.store.sql.webhooks import (
    WEBHOOK_KINDS,
    Delivery,
    DeliveryState,
    Webhook,
    WebhookKind,
)
from theanine_server.access import ONCE, Administrator, bind
from theanine_server.bodies import JsonBody, JsonRoute
from theanine_server.context import Principal
from theanine_server.idempotency import withhold_answer
from theanine_server.paging import Page, Paging, read_page
from theanine_server.problems import Refused, responses, write_responses
from theanine_server.state import ServerState, State

router = APIRouter(prefix="/v1/webhooks", route_class=JsonRoute, tags=["webhooks"])

WebhookId = Annotated[str, Path()]


class NewWebhook(BaseModel, extra="forbid"):
    """A URL, and the changes about which it gets messages."""

    name: str = Field(min_length=1)
    url: str = Field(min_length=1, description="An https:// URL of the internet.")
    kinds: list[WebhookKind] = Field(
        default=list(WEBHOOK_KINDS), min_length=1, description="Default: all."
    )
    user: str | None = Field(default=None, min_length=1, description="Default: all users.")
    agent: str | None = Field(default=None, min_length=1, description="Default: all agents.")


class WebhookChange(BaseModel, extra="forbid"):
    """Changes of a webhook; fields that are left out stay as they are."""

    name: str | None = Field(default=None, min_length=1)
    url: str | None = Field(default=None, min_length=1)
    kinds: list[WebhookKind] | None = Field(default=None, min_length=1)
    enabled: bool | None = Field(
        default=None, description="Whether it gets messages; true enables a disabled one again."
    )


class WebhookWithSecret(BaseModel):
    """A webhook with its new secret, which is shown only here."""

    webhook: Webhook
    secret: str


@router.post("", status_code=201, responses=write_responses(), dependencies=[ONCE])
async def create_webhook(
    request: Request, state: State, principal: Administrator, new: JsonBody[NewWebhook]
) -> WebhookWithSecret:
    """Create a webhook, which gets messages about data that the caller's key can access.

    Messages are signed by the Standard Webhooks scheme. The secret is in this answer alone: with an
    `Idempotency-Key`, the request is not answered again.
    """
    user, agent = bind(principal, new.user, new.agent)
    await state.options.webhook_guard.check(new.url)
    withhold_answer(request)
    webhook, secret = await state.store.write_concurrently(
        True,
        stored.create_webhook,
        principal.tenant,
        name=new.name,
        url=new.url,
        kinds=new.kinds,
        at=state.clock(),
        user=user,
        agent=agent,
    )
    return WebhookWithSecret(webhook=webhook, secret=secret)


@router.get("", responses=responses())
async def list_webhooks(state: State, principal: Administrator) -> list[Webhook]:
    """Return the tenant's webhooks, without their secrets."""
    return await state.store.read(
        stored.load_webhooks, principal.tenant, principal.user, principal.agent
    )


@router.get("/{webhook}", responses=responses(404))
async def get_webhook(state: State, principal: Administrator, webhook: WebhookId) -> Webhook:
    """Return a webhook, without its secret."""
    return await _load(state, principal, webhook)


@router.patch("/{webhook}", responses=write_responses(404), dependencies=[ONCE])
async def change_webhook(
    state: State, principal: Administrator, webhook: WebhookId, changes: JsonBody[WebhookChange]
) -> Webhook:
    """Change a webhook; one that is enabled again also gets the messages that wait."""
    await _load(state, principal, webhook)
    if changes.url is not None:
        await state.options.webhook_guard.check(changes.url)
    changed = await state.store.write_concurrently(
        True,
        stored.update_webhook,
        principal.tenant,
        webhook,
        **changes.model_dump(exclude_none=True),
    )
    state.deliverer.wake()
    return changed


@router.delete("/{webhook}", responses=write_responses(404), dependencies=[ONCE])
async def delete_webhook(state: State, principal: Administrator, webhook: WebhookId) -> Webhook:
    """Delete a webhook, with all that waits for it."""
    await _load(state, principal, webhook)
    return await state.store.write_concurrently(
        True, stored.delete_webhook, principal.tenant, webhook
    )


@router.post("/{webhook}/secret", responses=write_responses(404), dependencies=[ONCE])
async def replace_secret(
    request: Request, state: State, principal: Administrator, webhook: WebhookId
) -> WebhookWithSecret:
    """Replace a webhook's secret; for 24 hours, messages are signed with both."""
    await _load(state, principal, webhook)
    withhold_answer(request)
    changed, secret = await state.store.write_concurrently(
        True, stored.replace_secret, principal.tenant, webhook
    )
    return WebhookWithSecret(webhook=changed, secret=secret)


@router.post(
    "/{webhook}/test", status_code=202, responses=write_responses(404), dependencies=[ONCE]
)
async def test_webhook(state: State, principal: Administrator, webhook: WebhookId) -> Delivery:
    """Send a message of the kind `webhook.test`. Answers 409 for a webhook that is disabled."""
    if (await _load(state, principal, webhook)).disabled:
        raise Refused(409, "disabled", "the webhook is disabled; enable it first")
    added = await state.store.write_concurrently(True, add_test, principal.tenant, webhook)
    state.deliverer.wake()
    return added


@router.get("/{webhook}/deliveries", responses=responses(404))
async def list_deliveries(
    state: State,
    principal: Administrator,
    paging: Paging,
    webhook: WebhookId,
    delivery_state: Annotated[DeliveryState | None, Query(alias="state")] = None,
) -> Page[Delivery]:
    """Return messages to a webhook, the newest first; they are kept for seven days."""
    await _load(state, principal, webhook)

    async def read(limit: int) -> list[Delivery]:
        return await state.store.read(
            stored.list_deliveries, webhook, delivery_state, paging.after, limit
        )

    return await read_page(paging, read, lambda delivery: delivery.id)


@router.post(
    "/{webhook}/deliveries/{delivery}/retry",
    status_code=202,
    responses=write_responses(404),
    dependencies=[ONCE],
)
async def retry_delivery(
    state: State, principal: Administrator, webhook: WebhookId, delivery: Annotated[str, Path()]
) -> Delivery:
    """Have a message sent again at once, under the same id."""
    await _load(state, principal, webhook)
    waiting = await state.store.write_concurrently(True, stored.retry_delivery, webhook, delivery)
    state.deliverer.wake()
    return waiting


async def _load(state: ServerState, principal: Principal, webhook: str) -> Webhook:
    """Return a webhook if the caller's key can access its data. Raises NotFound."""
    return await state.store.read(
        stored.load_webhook, principal.tenant, webhook, principal.user, principal.agent
    )
