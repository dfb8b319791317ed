"""Settings for all users of the key's tenant."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from theanine_server.access import ONCE, Administrator, Reader
from theanine_server.bodies import JsonBody, JsonRoute
from theanine_server.parameters import Duration
from theanine_server.problems import Refused, responses, write_responses
from theanine_server.state import ServerState, State

router = APIRouter(prefix="/v1/settings", route_class=JsonRoute, tags=["tenant"])


class TenantSettings(BaseModel):
    """Settings of a tenant.

    ``retention`` is how long turns and memories are kept, for users without a setting of their own.
    """

    retention: Duration | None = None


class ChangedTenantSettings(BaseModel, extra="forbid"):
    """Settings to change; what is left out stays, null unsets."""

    retention: Duration | None = None


@router.get("", responses=responses())
async def tenant_settings(state: State, principal: Reader) -> TenantSettings:
    """Return what is set for the tenant."""
    return await _load(state, principal.tenant)


@router.patch("", responses=write_responses(), dependencies=[ONCE])
async def change_tenant_settings(
    state: State, principal: Administrator, changed: JsonBody[ChangedTenantSettings]
) -> TenantSettings:
    """Set how long turns and memories are kept, for users without a setting of their own."""
    if principal.user is not None or principal.agent is not None:
        raise Refused(403, "forbidden", "the key is for one user or agent, not for the tenant")
    if "retention" in changed.model_fields_set:
        await state.client.set_retention(changed.retention, tenant=principal.tenant)
    return await _load(state, principal.tenant)


async def _load(state: ServerState, tenant: str) -> TenantSettings:
    return TenantSettings(retention=await state.client.retention(tenant=tenant))
