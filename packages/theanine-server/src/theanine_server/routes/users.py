"""Users: list them, change their settings, forget them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from fastapi import APIRouter
from pydantic import BaseModel

from theanine.store.sql import schema as t
from theanine.store.sql.hiding import hides_everything
from theanine.store.sql.scopes import scope_from_row
from theanine.store.values import ForgetReport, UserSettings
from theanine.types import Scope
from theanine_server.access import Readable, Reader, Repeatable, Writable
from theanine_server.bodies import JsonBody, JsonRoute
from theanine_server.context import Principal
from theanine_server.paging import Page, Paging, read_page
from theanine_server.parameters import Duration
from theanine_server.problems import responses, write_responses
from theanine_server.state import State

router = APIRouter(prefix="/v1/users", route_class=JsonRoute, tags=["users"])


class ChangedSettings(BaseModel, extra="forbid"):
    """Settings to change; what is left out stays, null unsets."""

    time_zone: str | None = None
    retention: Duration | None = None


class Settings(BaseModel):
    """Settings of a user; ``retention`` is how long turns and memories are kept."""

    time_zone: str | None
    retention: Duration | None


@router.get("", responses=responses())
async def list_users(state: State, principal: Reader, paging: Paging) -> Page[Scope]:
    """Return the users of the key's tenant, with the agents that they talk with."""

    async def read(limit: int) -> list[Scope]:
        return await state.store.read(_load_users, principal, paging.after_names, limit)

    return await read_page(paging, read, lambda scope: f"{scope.user}\0{scope.agent}")


@router.get("/{user}/settings", responses=responses())
async def settings(memory: Readable) -> Settings:
    """Return what is set for the user."""
    return _shown(await memory.settings())


@router.patch("/{user}/settings", responses=write_responses())
async def change_settings(memory: Repeatable, changed: JsonBody[ChangedSettings]) -> Settings:
    """Set the user's time zone, or how long turns and memories are kept."""
    if "time_zone" in changed.model_fields_set:
        await memory.set_time_zone(changed.time_zone)
    if "retention" in changed.model_fields_set:
        await memory.set_retention(changed.retention)
    return _shown(await memory.settings())


@router.delete("/{user}", responses=write_responses(404))
async def forget_user(state: State, memory: Writable) -> ForgetReport:
    """Erase the user with everything that was said, made and set; return the receipt.

    It names the user by a pseudonym, so that an answer that is kept doesn't.
    """
    report = await memory.forget_all()
    pseudonym = state.pseudonyms.get(report.scope.tenant, report.scope.user)
    return replace(report, scope=replace(report.scope, user=pseudonym))


def _shown(found: UserSettings) -> Settings:
    return Settings(time_zone=found.time_zone, retention=found.retention)


def _load_users(
    db: sa.Connection, principal: Principal, after: tuple[str, str] | None, limit: int
) -> list[Scope]:
    """Return users that a principal may see, in order of name and agent."""
    names = t.scope.c
    query = sa.select(t.scope).where(names.tenant == principal.tenant)
    gone = sa.select(t.scope_state.c.scope).where(hides_everything())
    query = query.where(names.id.not_in(list(db.execute(gone).scalars())))
    if principal.user is not None:
        query = query.where(names.user == principal.user)
    if principal.agent is not None:
        query = query.where(names.agent == principal.agent)
    if after is not None:
        query = query.where(sa.tuple_(names.user, names.agent) > sa.tuple_(*map(sa.literal, after)))
    rows: Any = db.execute(query.order_by(names.user, names.agent).limit(limit))
    return [scope_from_row(row) for row in rows]
