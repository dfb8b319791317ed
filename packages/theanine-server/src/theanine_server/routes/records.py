"""The records of a user: sessions, turns, memories and timelines; correct, pin and forget them.

A memory has an ETag: send it as If-Match to change only what you have seen.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Query, Response
from pydantic import BaseModel, Field

from theanine.client import AsyncUserMemory
from theanine.client.hiding import load_hidden
from theanine.client.options import ListArguments
from theanine.errors import NotFound
from theanine.profile import Profile
from theanine.store.values import ForgetReport
from theanine.types import LIVE_KINDS, Link, Mark, Memory, Session, Timeline, Turn
from theanine_server.access import Readable, Repeatable, Replier, Writable
from theanine_server.bodies import JsonBody, JsonRoute
from theanine_server.etags import load_etag, require_match
from theanine_server.graphs import find_pinned
from theanine_server.paging import MAX_LIMIT, Page, Paging, read_page
from theanine_server.parameters import IN_DIGITS, Flag
from theanine_server.problems import responses, write_responses
from theanine_server.routes.ends import WithEnds
from theanine_server.routes.recall import Moment
from theanine_server.state import ServerState, State

router = APIRouter(prefix="/v1/users/{user}", route_class=JsonRoute, tags=["records"])

Id = Annotated[int, Field(ge=1, le=2**31 - 1), IN_DIGITS]
Number = Annotated[Id, Path()]
IfMatch = Annotated[str | None, Header(description="ETag of the version that you have read.")]


class Bounds:
    """Filters, order and page of a list."""

    def __init__(
        self,
        paging: Paging,
        after: Annotated[
            int | None,
            Query(
                ge=0,
                le=2**31 - 1,
                description="An id after which the list begins, instead of a cursor.",
            ),
            IN_DIGITS,
        ] = None,
        newest_first: Flag = False,
        search: Annotated[
            str, Query(description="Words that every item must contain.", max_length=1_000)
        ] = "",
        since: Annotated[Moment | None, Query()] = None,
        until: Annotated[Moment | None, Query()] = None,
        where: Annotated[
            str | None,
            Query(
                description="A filter by metadata: `channel=web and priority>=2`, or the same as "
                'JSON, `{"channel": "web", "priority": {">=": 2}}`.'
            ),
        ] = None,
        due: Annotated[
            Flag, Query(description="Only what is past the time by which to verify it.")
        ] = False,
    ) -> None:
        self.paging, self._after = paging, after
        arguments: ListArguments = {
            "newest_first": newest_first,
            "search": search,
            "due": due,
        }
        if since is not None:
            arguments["since"] = since
        if until is not None:
            arguments["until"] = until
        if where is not None:
            arguments["where"] = where
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


class CorrectedText(BaseModel, extra="forbid"):
    """The text in place of a memory's."""

    text: str = Field(min_length=1)


class Correction(WithEnds, CorrectedText):
    """A correction, and when it ends."""


class Pinned(BaseModel):
    """Whether a memory is pinned, and whether this request changed that."""

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


@router.delete("/sessions/{session}", responses=write_responses(404))
async def forget_session(memory: Writable, session: Number) -> ForgetReport:
    """Erase a session and what was made from it; return the receipt."""
    return await memory.forget(session=session)


@router.get("/turns", responses=responses())
async def turns(
    memory: Readable,
    bounds: ListBounds,
    session: Annotated[Id | None, Query()] = None,
    thread: Annotated[str | None, Query(min_length=1)] = None,
    ids: Annotated[list[Annotated[int, IN_DIGITS]] | None, Query(max_length=MAX_LIMIT)] = None,
    with_content: Annotated[
        Flag, Query(description="Include images and other parts of messages.")
    ] = False,
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
async def get_turn(memory: Readable, turn: Number) -> Turn:
    """Return one turn."""
    found = await memory.turns(ids=[turn])
    if not found:
        raise NotFound(f"{memory.scope.user} has no turn {turn}")
    return found[0]


@router.delete("/turns/{turn}", responses=write_responses(404))
async def forget_turn(memory: Writable, turn: Number) -> ForgetReport:
    """Erase a turn and what was made from it; return the receipt."""
    return await memory.forget(turn=turn)


@router.delete("/turns", responses=write_responses(404))
async def forget_turns(
    memory: Writable, ids: Annotated[list[Id], Query(min_length=1, max_length=MAX_LIMIT)]
) -> ForgetReport:
    """Erase several turns in one step, with what was made from them; return the receipt."""
    return await memory.forget(turn=ids)


@router.get("/memories", responses=responses())
async def memories(
    memory: Readable, bounds: ListBounds, pinned: Flag | None = None
) -> Page[Memory]:
    """Return memories: all, or only those that are pinned, or not."""
    return await read_page(
        bounds.paging,
        lambda limit: memory.memories(pinned=pinned, **bounds.arguments(limit)),
        lambda found: found.id,
    )


@router.get("/memories/{number}", responses=responses(404))
async def get_memory(
    state: State, memory: Readable, number: Number, response: Response
) -> MemoryDetail:
    """Return a memory with its marks and links; its ETag is in the header."""
    # Before all else: what changes meanwhile must not match it.
    response.headers["ETag"] = await state.store.read(load_etag, memory.scope, number)
    return await _load_detail(state, memory, number)


@router.get("/memories/{number}/versions", responses=responses(404))
async def versions(memory: Readable, number: Number) -> list[Memory]:
    """Return what a memory was before and what it became, the oldest first."""
    return await memory.history(number)


@router.post("/memories/{number}/corrections", status_code=201, responses=write_responses(404, 412))
async def correct(
    memory: Writable, number: Number, correction: JsonBody[Correction], if_match: IfMatch = None
) -> Memory:
    """Replace what a memory says, and return the new one; the old one stays, marked."""
    require_match(memory.scope, number, if_match)
    return await memory.correct(
        number, correction.text, expires=correction.expires, verify_by=correction.verify_by
    )


@router.put("/memories/{number}/pin", responses=write_responses(404, 412))
async def pin(memory: Repeatable, number: Number, if_match: IfMatch = None) -> Pinned:
    """Have a memory in every recollection."""
    require_match(memory.scope, number, if_match)
    return Pinned(pinned=True, changed=await memory.pin(number))


@router.delete("/memories/{number}/pin", responses=write_responses(404, 412))
async def unpin(memory: Repeatable, number: Number, if_match: IfMatch = None) -> Pinned:
    """Take the pin off a memory."""
    require_match(memory.scope, number, if_match)
    return Pinned(pinned=False, changed=await memory.unpin(number))


@router.delete("/memories/{number}", responses=write_responses(404, 412))
async def forget_memory(
    memory: Writable, number: Number, keep_turns: Flag = False, if_match: IfMatch = None
) -> ForgetReport:
    """Erase a memory, with the turns that support no other one unless they are kept."""
    require_match(memory.scope, number, if_match)
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
        Id | None, Query(alias="memory", description="Only the timeline of this memory.")
    ] = None,
) -> list[Timeline]:
    """Return what is remembered of each matter, oldest first, as a timeline with a title."""
    return await memory.timelines(number)


@router.get("/profile", responses=responses())
async def profile(
    state: State,
    memory: Readable,
    as_of: Annotated[str | None, Query(description="Use only what was known at this time.")] = None,
    name: Annotated[
        str | None,
        Query(min_length=1, description="The user's name among those who speak; default: the id."),
    ] = None,
) -> Profile:
    """Return what is known of the user, in their own words, with sources; no model is asked."""
    return await _named(state, memory, name).profile(as_of=as_of)


class ProfileRequest(BaseModel, extra="forbid"):
    """The bounds of a profile that the service's model writes."""

    as_of: Moment | None = Field(default=None, description="Use only what was known at this time.")
    name: str | None = Field(
        default=None,
        min_length=1,
        description="The user's name among those who speak; default: the id.",
    )


@router.post("/profile", responses=responses(413, 502, 507))
async def write_profile(
    state: State, principal: Replier, memory: Readable, asked: JsonBody[ProfileRequest]
) -> Profile:
    """Have the service's model write what is known of the user, with sources, in one call.

    It counts as a reply. What the model wrote for the same words is returned again.
    """
    await state.spending.take(principal.tenant)
    return await _named(state, memory, asked.name).profile(as_of=asked.as_of, with_model=True)


def _named(state: ServerState, memory: AsyncUserMemory, name: str | None) -> AsyncUserMemory:
    """Return the memory of a user who has a name among those who speak."""
    of = memory.scope
    return state.client.user(of.user, agent=of.agent, tenant=of.tenant, name=name or "")


async def _load_detail(state: ServerState, memory: AsyncUserMemory, number: int) -> MemoryDetail:
    """Return a memory with what its own method, which may be another one, says of it."""
    scope, store = memory.scope, state.store
    found = await memory.get(number)
    marks = [m for m in await store.marks(scope, method=found.method) if m.memory == number]
    links = await store.links(scope, method=found.method)
    links = [link for link in links if number in (link.older, link.newer)]
    ends = [mark for mark in marks if mark.kind not in LIVE_KINDS]
    if hidden := await load_hidden(store, scope, state.clock()):
        others = {each for link in links for each in (link.older, link.newer)}
        others |= {mark.by for mark in ends if mark.by is not None}
        known = await store.memories(scope, ids=sorted(others))
        gone = {each.id for each in known if hidden.has_memory(each.id, each.session)}
        links = [link for link in links if gone.isdisjoint((link.older, link.newer))]
        ends = [mark for mark in ends if mark.by not in gone]
    pinned = number in find_pinned(marks)
    return MemoryDetail(memory=found, pinned=pinned, marks=ends, links=links)
