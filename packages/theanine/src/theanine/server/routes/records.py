"""The records of a user: sessions, turns, memories and timelines; correct, pin and forget them.

A memory has an ETag: send it as If-Match to change only what you have seen.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Response
from pydantic import BaseModel, Field, TypeAdapter

from theanine.client import AsyncUserMemory
from theanine.client.options import ListArguments
from theanine.errors import NotFound
from theanine.server.access import Readable, Writable
from theanine.server.paging import MAX_LIMIT, Page, Paging, read_page
from theanine.server.problems import Refused, responses
from theanine.server.routes.recall import Moment
from theanine.store.values import ForgetReport
from theanine.types import Link, Mark, Memory, Session, Timeline, Turn

router = APIRouter(prefix="/v1/users/{user}", tags=["records"])

Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
Id = Annotated[int, Field(ge=1, le=2**31 - 1)]
IfMatch = Annotated[str | None, Header(description="ETag of the memory that you have seen.")]


class Bounds:
    """What a list has: filters, order, and the bounds of a page."""

    def __init__(
        self,
        paging: Paging,
        after: Annotated[
            int | None, Query(ge=0, le=2**31 - 1, description="In place of a cursor: an id.")
        ] = None,
        newest_first: bool = False,
        search: Annotated[str, Query(description="Words that each has.", max_length=1_000)] = "",
        since: Annotated[Moment | None, Query()] = None,
        until: Annotated[Moment | None, Query()] = None,
        where: Annotated[
            str | None, Query(description='Metadata as JSON, such as {"channel": "web"}.')
        ] = None,
    ) -> None:
        self.paging, self._after = paging, after
        arguments: ListArguments = {"newest_first": newest_first, "search": search}
        if since is not None:
            arguments["since"] = since
        if until is not None:
            arguments["until"] = until
        if where is not None:
            arguments["where"] = _read_object(where)
        self._arguments = arguments

    def arguments(self, limit: int) -> ListArguments:
        """Return the arguments of the library's lists."""
        start = self._after if self.paging.after is None else self.paging.after_id
        return {**self._arguments, "limit": limit, "after": start}


ListBounds = Annotated[Bounds, Depends()]


class MemoryDetail(BaseModel):
    """A memory, the marks on it and its links."""

    memory: Memory
    pinned: bool
    marks: list[Mark]
    links: list[Link]


class Correction(BaseModel, extra="forbid"):
    """What is true instead."""

    text: str = Field(min_length=1)


class Pinned(BaseModel):
    """Whether a memory is pinned, and whether that is new."""

    pinned: bool
    changed: bool


@router.get("/sessions", responses=responses())
async def sessions(
    memory: Readable,
    bounds: ListBounds,
    thread: Annotated[str | None, Query(min_length=1)] = None,
) -> Page[Session]:
    """Return sessions, all or a thread's."""
    return await read_page(
        bounds.paging,
        lambda limit: memory.sessions(thread=thread, **bounds.arguments(limit)),
        lambda session: session.id,
    )


@router.delete("/sessions/{session}", responses=responses(404))
async def forget_session(memory: Writable, session: Number) -> ForgetReport:
    """Erase a session and what was made from it; return the receipt."""
    return await memory.forget(session=session)


@router.get("/turns", responses=responses())
async def turns(
    memory: Readable,
    bounds: ListBounds,
    session: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    thread: Annotated[str | None, Query(min_length=1)] = None,
    ids: Annotated[list[int] | None, Query(max_length=MAX_LIMIT)] = None,
    with_content: Annotated[bool, Query(description="With images and other parts.")] = False,
) -> Page[Turn]:
    """Return turns: all, those of a session or thread, or those of some ids."""
    if ids is not None:
        known = [number for number in ids if 0 < number < 2**31]
        return Page(items=await memory.turns(ids=known, with_content=with_content))
    return await read_page(
        bounds.paging,
        lambda limit: memory.turns(
            session=session, thread=thread, with_content=with_content, **bounds.arguments(limit)
        ),
        lambda turn: turn.id,
    )


@router.get("/turns/{turn}", responses=responses(404))
async def turn(memory: Readable, turn: Number) -> Turn:
    """Return one turn."""
    found = await memory.turns(ids=[turn])
    if not found:
        raise NotFound(f"{memory.scope.user} has no turn {turn}")
    return found[0]


@router.delete("/turns/{turn}", responses=responses(404))
async def forget_turn(memory: Writable, turn: Number) -> ForgetReport:
    """Erase a turn and what was made from it; return the receipt."""
    return await memory.forget(turn=turn)


@router.delete("/turns", responses=responses(404))
async def forget_turns(
    memory: Writable, ids: Annotated[list[Id], Query(min_length=1, max_length=MAX_LIMIT)]
) -> ForgetReport:
    """Erase several turns in one step, with what was made from them; return the receipt."""
    return await memory.forget(turn=ids)


@router.get("/memories", responses=responses())
async def memories(
    memory: Readable, bounds: ListBounds, pinned: bool | None = None
) -> Page[Memory]:
    """Return memories: all, or only those that are pinned, or not."""
    return await read_page(
        bounds.paging,
        lambda limit: memory.memories(pinned=pinned, **bounds.arguments(limit)),
        lambda found: found.id,
    )


@router.get("/memories/{number}", responses=responses(404))
async def get_memory(memory: Readable, number: Number, response: Response) -> MemoryDetail:
    """Return a memory with its marks and links; its ETag is in the header."""
    detail = await _load_detail(memory, number)
    response.headers["ETag"] = _etag(detail)
    return detail


@router.get("/memories/{number}/versions", responses=responses(404))
async def versions(memory: Readable, number: Number) -> list[Memory]:
    """Return what a memory was before and what it became, the oldest first."""
    return await memory.history(number)


@router.post("/memories/{number}/corrections", status_code=201, responses=responses(404, 412))
async def correct(
    memory: Writable, number: Number, correction: Correction, if_match: IfMatch = None
) -> Memory:
    """Replace what a memory says, and return the new one; the old one stays, marked."""
    await _check_match(memory, number, if_match)
    return await memory.correct(number, correction.text)


@router.put("/memories/{number}/pin", responses=responses(404, 412))
async def pin(memory: Writable, number: Number, if_match: IfMatch = None) -> Pinned:
    """Have a memory in every recollection."""
    await _check_match(memory, number, if_match)
    return Pinned(pinned=True, changed=await memory.pin(number))


@router.delete("/memories/{number}/pin", responses=responses(404, 412))
async def unpin(memory: Writable, number: Number, if_match: IfMatch = None) -> Pinned:
    """Take the pin off a memory."""
    await _check_match(memory, number, if_match)
    return Pinned(pinned=False, changed=await memory.unpin(number))


@router.delete("/memories/{number}", responses=responses(404, 412))
async def forget_memory(
    memory: Writable, number: Number, keep_turns: bool = False, if_match: IfMatch = None
) -> ForgetReport:
    """Erase a memory, with the turns that support no other one unless they are kept."""
    await _check_match(memory, number, if_match)
    return await memory.forget(memory=number, keep_turns=keep_turns)


@router.get("/marks", responses=responses())
async def marks(memory: Readable) -> list[Mark]:
    """Return the marks of memories that are not in effect."""
    return await memory.marks()


@router.get("/links", responses=responses())
async def links(memory: Readable) -> list[Link]:
    """Return the links between memories."""
    return await memory.links()


@router.get("/timelines", responses=responses(404))
async def timelines(
    memory: Readable,
    number: Annotated[
        int | None, Query(alias="memory", ge=1, le=2**31 - 1, description="Only those with it.")
    ] = None,
) -> list[Timeline]:
    """Return the longest timeline to each memory that has no newer link."""
    return await memory.timelines(number)


_DETAIL = TypeAdapter(MemoryDetail)


async def _load_detail(memory: AsyncUserMemory, number: int) -> MemoryDetail:
    found = await memory.get(number)
    marks = [mark for mark in await memory.marks() if mark.memory == number]
    links = [link for link in await memory.links() if number in (link.older, link.newer)]
    pinned = await memory.memories(pinned=True, limit=1, after=number - 1)
    return MemoryDetail(
        memory=found,
        pinned=[each.id for each in pinned] == [number],
        marks=marks,
        links=links,
    )


def _etag(detail: MemoryDetail) -> str:
    return f'"{blake2b(_DETAIL.dump_json(detail), digest_size=12).hexdigest()}"'


async def _check_match(memory: AsyncUserMemory, number: int, if_match: str | None) -> None:
    """Answer 412 if a memory is no longer what the caller has seen, 404 if there is none."""
    if if_match is None:
        return
    current = _etag(await _load_detail(memory, number))
    if if_match != "*" and current not in [tag.strip() for tag in if_match.split(",")]:
        raise Refused(412, "changed", f"memory {number} has changed; read it again")


def _read_object(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Refused(422, "bad_input", 'where must be a JSON object, such as {"channel": "web"}')
    return value  # pyright: ignore[reportUnknownVariableType]  # Filter.parse checks it
