"""Conversations: sessions as a person lists them, and what was remembered where in them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from theanine.client import AsyncUserMemory
from theanine.client.hiding import load_hidden
from theanine.errors import NotFound
from theanine.methods.registry import stored_method
from theanine.store.sql.conversations import (
    Conversation,
    Month,
    Place,
    load_conversations,
    load_months,
    load_places,
)
from theanine.store.values import Hidden
from theanine.types import Scope
from theanine_server.access import Readable
from theanine_server.paging import Page, Paging, read_page
from theanine_server.problems import responses
from theanine_server.routes.records import Number
from theanine_server.state import ServerState, State

router = APIRouter(prefix="/v1/users/{user}/conversations", tags=["records"])


class ConversationDetail(BaseModel):
    """A conversation, and where its memories were said; its turns are in `GET …/turns`."""

    conversation: Conversation
    places: list[Place]


@router.get("", responses=responses())
async def conversations(
    state: State,
    memory: Readable,
    paging: Paging,
    month: Annotated[
        str | None,
        Query(
            pattern=r"^(\d{4}-\d{2})?$",
            description="Only those that began in this month or before, such as `2024-03`; empty "
            "for those without a date.",
        ),
    ] = None,
) -> Page[Conversation]:
    """Return conversations, the newest first, with who spoke and how each begins.

    Those without a date come last.
    """
    asked = await _ask(state, memory)
    return await read_page(
        paging,
        lambda limit: state.store.read(
            load_conversations, *asked, month=month, after=paging.after_id, limit=limit
        ),
        lambda found: found.session,
    )


@router.get("/months", responses=responses())
async def months(state: State, memory: Readable) -> list[Month]:
    """Return the months that have conversations, and how many, the newest first."""
    return await state.store.read(load_months, *await _ask(state, memory))


@router.get("/{number}", responses=responses(404))
async def conversation(state: State, memory: Readable, number: Number) -> ConversationDetail:
    """Return one conversation, with where its memories were said."""
    asked = await _ask(state, memory)
    found = await state.store.read(load_conversations, *asked, ids=[number])
    if not found:
        raise NotFound(f"{memory.scope.user} has no conversation {number}")
    places = await state.store.read(load_places, *asked, number)
    return ConversationDetail(conversation=found[0], places=places)


async def _ask(state: ServerState, memory: AsyncUserMemory) -> tuple[Scope, str, Hidden]:
    """Return whose conversations are read, the method, and what is left out."""
    hidden = await load_hidden(state.store, memory.scope, state.clock())
    return memory.scope, stored_method(state.client.method_name), hidden
