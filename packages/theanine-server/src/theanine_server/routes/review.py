"""Review: a user's doubtful memories, which a person accepts, corrects or forgets."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from theanine.store.sql.corrections import load_accepted
from theanine.store.sql.journal import load_rejected
from theanine_server.access import Readable, Repeatable
from theanine_server.page.review import DoubtfulMemory, find_doubtful
from theanine_server.problems import responses, write_responses
from theanine_server.routes.records import Number
from theanine_server.state import State

router = APIRouter(prefix="/v1/users/{user}", tags=["records"])


class Accepted(BaseModel):
    """Whether the memory was not accepted before."""

    changed: bool


@router.get("/review", responses=responses())
async def review(state: State, memory: Readable) -> list[DoubtfulMemory]:
    """Return the memories that a person should look at: contradictions, what the local linker is
    not sure of, and what a model made after a reply that could not be used."""
    accepted = await state.store.read(load_accepted, memory.scope)
    return find_doubtful(
        await memory.memories(),
        await memory.links(),
        accepted | {mark.memory for mark in await memory.marks()},
        await state.store.read(load_rejected, memory.scope),
    )


@router.put("/memories/{number}/accepted", responses=write_responses(404))
async def accept(state: State, memory: Repeatable, number: Number) -> Accepted:
    """Accept a memory as right, so that it is no longer doubtful."""
    await memory.get(number)
    return Accepted(changed=await state.store.accept_memory(memory.scope, number))
