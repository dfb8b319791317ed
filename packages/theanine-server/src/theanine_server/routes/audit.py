"""The audit log, for administrators of a tenant."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from theanine.store.sql.audit import Action, AuditEntry, AuditFilter, list_entries
from theanine_server.access import Administrator, bind
from theanine_server.paging import Page, Paging, read_page
from theanine_server.parameters import Time
from theanine_server.problems import responses
from theanine_server.state import State

router = APIRouter(prefix="/v1/audit", tags=["service"])


@router.get("", responses=responses())
async def list_audit(
    state: State,
    principal: Administrator,
    paging: Paging,
    user: Annotated[str | None, Query(min_length=1, description="Only this user, by name.")] = None,
    agent: Annotated[str | None, Query(min_length=1)] = None,
    key: Annotated[str | None, Query(min_length=1, description="Only this key, by id.")] = None,
    action: Action | None = None,
    since: Time | None = None,
    until: Time | None = None,
) -> Page[AuditEntry]:
    """Return who read, changed and erased, the newest first; users are named by pseudonyms."""
    user, agent = bind(principal, user, agent)
    wanted = AuditFilter(
        tenant=principal.tenant,
        key=key,
        user=None if user is None else state.pseudonyms.get(principal.tenant, user),
        agent=agent,
        action=action,
        since=since,
        until=until,
        after=paging.after,
    )
    await state.audit.flush()

    async def read(limit: int) -> list[AuditEntry]:
        return await state.store.read(list_entries, wanted, limit)

    return await read_page(paging, read, lambda entry: entry.id)
