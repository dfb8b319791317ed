"""Keys of the asker's tenant."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import AwareDatetime, BaseModel, Field

from theanine.errors import NotFound
from theanine.server.access import Administrator, Principal, bind
from theanine.server.problems import responses
from theanine.server.state import ServerState
from theanine.store.sql.api_keys import ApiKey, Right, create_key, load_keys, revoke_key

router = APIRouter(prefix="/v1/keys", tags=["keys"])


class NewKey(BaseModel, extra="forbid"):
    """What a new key is for and what it opens."""

    name: str = Field(min_length=1)
    user: str | None = None
    agent: str | None = None
    rights: list[Right] = Field(default=["read", "write"], min_length=1)
    rate: int | None = Field(default=None, ge=1, le=1_000_000)
    expires_at: AwareDatetime | None = None


class CreatedKey(BaseModel):
    """A new key; its token is shown only here."""

    key: ApiKey
    token: str


@router.post("", status_code=201, responses=responses())
async def create(request: Request, principal: Administrator, new: NewKey) -> CreatedKey:
    """Create a key of the asker's tenant; it opens no more than the asker's own."""
    state: ServerState = request.app.state.server
    user, agent = bind(principal, new.user, new.agent)
    key, token = await state.store.write(
        create_key,
        name=new.name,
        at=state.clock(),
        tenant=principal.tenant,
        user=user,
        agent=agent,
        rights=new.rights,
        rate=new.rate,
        expires_at=new.expires_at,
    )
    return CreatedKey(key=key, token=token)


@router.get("", responses=responses())
async def list_keys(request: Request, principal: Administrator) -> list[ApiKey]:
    """Return the tenant's keys, without their secrets."""
    return await _load_visible(request.app.state.server, principal)


@router.delete("/{key}", responses=responses(404))
async def revoke(request: Request, principal: Administrator, key: Annotated[str, Path()]) -> ApiKey:
    """Revoke a key; all processes refuse it within five seconds."""
    state: ServerState = request.app.state.server
    if key not in [visible.id for visible in await _load_visible(state, principal)]:
        raise NotFound(f"there is no key {key}")
    return await state.store.write(revoke_key, key, state.clock(), principal.tenant)


async def _load_visible(state: ServerState, principal: Principal) -> list[ApiKey]:
    """Return the tenant's keys that are for no more than the asker's own."""
    return [
        key
        for key in await state.store.read(load_keys, principal.tenant)
        if principal.user in (None, key.user) and principal.agent in (None, key.agent)
    ]
