"""API keys of the caller's tenant."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field

from theanine.errors import NotFound
from theanine.store.sql.api_keys import ApiKey, Right, allows, create_key, load_keys, revoke_key
from theanine_server.access import ONCE, Administrator, bind
from theanine_server.bodies import JsonBody, JsonRoute
from theanine_server.context import Principal
from theanine_server.idempotency import withhold_answer
from theanine_server.parameters import Time
from theanine_server.problems import Refused, responses, write_responses
from theanine_server.state import ServerState, State

_DEFAULT_RIGHTS: tuple[Right, ...] = ("read", "write")

router = APIRouter(prefix="/v1/keys", route_class=JsonRoute, tags=["keys"])


class NewKey(BaseModel, extra="forbid"):
    """Name, rights and limits of a new key."""

    name: str = Field(min_length=1)
    user: str | None = None
    agent: str | None = None
    rights: list[Right] | None = Field(default=None, min_length=1)
    rate: int | None = Field(default=None, ge=1, le=1_000_000)
    expires_at: Time | None = None


class CreatedKey(BaseModel):
    """A new key; its token is shown only here."""

    key: ApiKey
    token: str


@router.post(
    "", name="create_key", status_code=201, responses=write_responses(), dependencies=[ONCE]
)
async def create(
    request: Request, state: State, principal: Administrator, new: JsonBody[NewKey]
) -> CreatedKey:
    """Create a key for the caller's tenant, with no more access than the caller's own.

    Its rights, rate and expiry are at most those of the caller's key, whose rate and expiry it has
    if it names none. Its rights are then `read` and `write`, as far as the caller has them.

    The token is in this answer alone: with an `Idempotency-Key`, the request is not answered again.
    """
    user, agent = bind(principal, new.user, new.agent)
    maker = await _load_own(state, principal)
    rights, rate, expires_at = _bounded(maker, new) if maker else _asked(new)
    withhold_answer(request)
    key, token = await state.store.write_concurrently(
        True,
        create_key,
        name=new.name,
        at=state.clock(),
        tenant=principal.tenant,
        user=user,
        agent=agent,
        rights=rights,
        rate=rate,
        expires_at=expires_at,
        maker=maker.id if maker else None,
    )
    return CreatedKey(key=key, token=token)


@router.get("", responses=responses())
async def list_keys(state: State, principal: Administrator) -> list[ApiKey]:
    """Return the tenant's keys, without their secrets."""
    return await _load_visible(state, principal)


@router.delete("/{key}", name="revoke_key", responses=write_responses(404), dependencies=[ONCE])
async def revoke(state: State, principal: Administrator, key: Annotated[str, Path()]) -> ApiKey:
    """Revoke a key and those that it made; all processes refuse them within five seconds."""
    if key not in [visible.id for visible in await _load_visible(state, principal)]:
        raise NotFound(f"there is no key {key}")
    revoked, *_ = await state.store.write_concurrently(
        True, revoke_key, key, state.clock(), principal.tenant
    )
    return revoked


async def _load_own(state: ServerState, principal: Principal) -> ApiKey | None:
    """Return the caller's key; None for the local user of `--dev` or of the page."""
    keys = await state.store.read(load_keys, principal.tenant)
    return next((key for key in keys if key.id == principal.key), None)


_Access = tuple[Collection[Right], int | None, datetime | None]


def _asked(new: NewKey) -> _Access:
    return new.rights or _DEFAULT_RIGHTS, new.rate, new.expires_at


def _bounded(maker: ApiKey, new: NewKey) -> _Access:
    """Return the rights, rate and expiry of a key that has no more of them than its maker."""
    own: list[Right] = [right for right in _DEFAULT_RIGHTS if right in maker.rights]
    rights: Collection[Right] = new.rights or own or maker.rights
    rate, expires_at = new.rate or maker.rate, new.expires_at or maker.expires_at
    if lacking := [right for right in rights if not allows(maker.rights, right)]:
        raise Refused(403, "forbidden", f"your key lacks the right to {', '.join(lacking)}")
    if maker.rate and rate and rate > maker.rate:
        raise Refused(403, "forbidden", f"your key allows {maker.rate} requests a minute")
    if maker.expires_at and expires_at and expires_at > maker.expires_at:
        raise Refused(403, "forbidden", f"your key expires at {maker.expires_at.isoformat()}")
    return rights, rate, expires_at


async def _load_visible(state: ServerState, principal: Principal) -> list[ApiKey]:
    """Return the tenant's keys with no more access than the caller's own."""
    return [
        key
        for key in await state.store.read(load_keys, principal.tenant)
        if principal.user in (None, key.user) and principal.agent in (None, key.agent)
    ]
