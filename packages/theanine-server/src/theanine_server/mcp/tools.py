"""The tools: ``search`` lists hits, ``timeline`` shows how one developed, ``fetch`` its text.

``profile`` shows what is known of the user.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Protocol

from mcp.server.apps import client_supports_apps
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, TextContent
from pydantic import Field

from theanine.client import AsyncUserMemory
from theanine.client.options import RecallArguments
from theanine.errors import BadInput, NotFound
from theanine.fences import remembered_block
from theanine.retrieval.budget import fit_prefix
from theanine.text.words import format_date
from theanine.types import Mark, Memory, Turn
from theanine_server.mcp.ids import RecordId
from theanine_server.mcp.texts import (
    describe_memory,
    describe_timeline,
    describe_turn,
    fenced,
    hit_text,
    part_id,
    read_page,
    timeline_data,
    title,
)

SEARCH_BUDGET = 600
"""Maximum tokens of the list of hits."""
RECALL_BUDGET = 8_000
"""Token budget of the recall of which a search lists the hits: enough to fill the list."""
TIMELINE_BUDGET = 800
FETCH_BUDGET = 1_500
"""Tokens of a page."""
NEIGHBORS = 2
"""Turns before and after a turn that are fetched with it."""
MAX_TIMELINES = 20
"""Maximum number of timelines that are shown without an id."""

AnyContext = Context[Any, Any]
Day = Annotated[str, Field(description="Such as 2024-05-01 or last week")]
Expiry = Annotated[str, Field(description="Erased from then on: 2027-05-01")]
Check = Annotated[str, Field(description="Ask the user again from then on: 2027-05-01")]
Id = Annotated[str, Field(description="Any that a tool returned, such as m12")]


Access = Literal["read", "write", "erase"]
"""Whether a tool reads, changes or erases memory; the right to write includes erasing."""


class FindMemory(Protocol):
    """Returns the memory that a request is about, if the request has the right to access it."""

    def __call__(self, context: AnyContext, access: Access) -> AsyncUserMemory: ...


class MemoryTools:
    """The tools, as methods; each finds the memory that its request is about."""

    def __init__(self, find_memory: FindMemory) -> None:
        self._find = find_memory

    async def search(
        self, query: str, context: AnyContext, since: Day = "", until: Day = ""
    ) -> CallToolResult:
        """Search earlier conversations; returns ids and first words, the best first."""
        memory = self._find(context, "read")
        bounds: RecallArguments = {"budget": RECALL_BUDGET}
        if since:
            bounds["since"] = since
        if until:
            bounds["until"] = until
        found = await memory.recall(query, **bounds)
        hits: dict[str, dict[str, str]] = {}
        for part in sorted(found.parts, key=lambda part: -(part.relevance or 0)):
            if id := part_id(part):
                words = title(hit_text(part, id))
                hits.setdefault(str(id), {"id": str(id), "title": words, "url": id.uri})
        ranked = ((hit, json.dumps(hit, ensure_ascii=False)) for hit in hits.values())
        return _json({"results": fit_prefix(ranked, SEARCH_BUDGET)})

    async def timeline(self, context: AnyContext, id: Id = "") -> CallToolResult:
        """Show what a memory developed from and into; without an id, the latest developments."""
        memory = self._find(context, "read")
        timelines = await memory.timelines(await _memory_of(memory, id) if id else None)
        timelines = timelines[:MAX_TIMELINES]
        page, has_more = read_page([*map(describe_timeline, timelines)], 1, TIMELINE_BUDGET)
        note = "There is more: pass the id of a memory." if has_more else ""
        content = fenced(page, note) or "Nothing has developed yet."
        shown = timelines[: len(page)]
        data = timeline_data(shown) if client_supports_apps(context) else None
        return CallToolResult(content=[TextContent(text=content)], structured_content=data)

    async def profile(self, context: AnyContext) -> CallToolResult:
        """Show what is known of the user."""
        found = await self._find(context, "read").profile()
        return _text(remembered_block([found.text]) or "Nothing is known yet.")

    async def fetch(self, id: Id, context: AnyContext) -> CallToolResult:
        """Return the words behind a hit, in full; `next` in its metadata is the id of more."""
        asked = RecordId.parse(id)
        return _json(await self.read(self._find(context, "read"), asked))

    async def read(self, memory: AsyncUserMemory, asked: RecordId) -> dict[str, Any]:
        """Return what ``fetch`` returns for an id. Raises NotFound."""
        turns = await (self._turns_around if asked.kind == "t" else self._source_turns)(
            memory, asked.number
        )
        texts = [describe_turn(turn) for turn in turns]
        metadata: dict[str, Any] = {}
        if asked.kind == "m":
            record: Memory | Turn = await memory.get(asked.number)
            texts.insert(0, describe_memory(record, await _mark_of(memory, asked.number)))
        else:
            record = next(turn for turn in turns if turn.id == asked.number)
        if record.dated:
            metadata["date"] = format_date(record.at)
        page, has_more = read_page(texts, asked.page, FETCH_BUDGET)
        if has_more:
            metadata["next"] = str(RecordId(asked.kind, asked.number, asked.page + 1))
        return {
            "id": str(asked),
            "title": title(record.text),
            "text": fenced(page),
            "url": asked.uri,
            "metadata": metadata,
        }

    async def remember(
        self, text: str, context: AnyContext, expires: Expiry = "", verify_by: Check = ""
    ) -> CallToolResult:
        """Store what the user said or decided, for later conversations."""
        memory = self._find(context, "write")
        report = await memory.add(
            text,
            metadata={"source": "mcp"},
            expires=expires or None,
            verify_by=verify_by or None,
        )
        stored = ", ".join(f"t{turn.id}" for turn in report.turns)
        return _text(f"Stored as {stored}.")

    async def correct(self, id: Id, text: str, context: AnyContext) -> CallToolResult:
        """Replace what a memory says; the old version is kept, marked."""
        memory = self._find(context, "write")
        number = await _memory_of(memory, id)
        corrected = await memory.correct(number, text)
        return _text(f"m{number} is replaced by m{corrected.id}.")

    async def pin(self, id: Id, context: AnyContext, pinned: bool = True) -> CallToolResult:
        """Recall a memory every time, or no longer, if the user asks for it."""
        memory = self._find(context, "write")
        number = await _memory_of(memory, id)
        await (memory.pin if pinned else memory.unpin)(number)
        return _text(f"m{number} is {'pinned' if pinned else 'not pinned any more'}.")

    async def forget(self, id: Id, context: AnyContext) -> CallToolResult:
        """Erase a memory or turn for good, only if the user asks for it."""
        memory, record = self._find(context, "erase"), RecordId.parse(id)
        if record.kind == "m":
            report = await memory.forget(memory=record.number)
        else:
            report = await memory.forget(turn=record.number)
        verified = "verified" if report.verified else "not verified"
        erased = f"Erased {report.turns} turns and {report.memories} memories, {verified}."
        kept = f"\nKept:\n{fenced(report.kept)}" if report.kept else ""
        return _text(erased + kept)

    async def _source_turns(self, memory: AsyncUserMemory, number: int) -> Sequence[Turn]:
        """Return the turns that support a memory, directly or by what it was made from."""
        seen, ids, waiting = {number}, set[int](), [number]
        while waiting:
            found = await memory.get(waiting.pop())
            ids.update(found.source_turns)
            waiting += [origin for origin in found.derived_from if origin not in seen]
            seen.update(found.derived_from)
        return await memory.turns(ids=sorted(ids))

    async def _turns_around(self, memory: AsyncUserMemory, number: int) -> Sequence[Turn]:
        """Return a turn and its neighbors in the session. Raises NotFound."""
        near = range(max(number - NEIGHBORS, 1), number + NEIGHBORS + 1)
        turns = {turn.id: turn for turn in await memory.turns(ids=near)}
        if number not in turns:
            raise NotFound(f"{memory.scope.user} has no turn t{number}")
        return [turn for turn in turns.values() if turn.session == turns[number].session]


async def _memory_of(memory: AsyncUserMemory, id: str) -> int:
    """Return the number of the memory that an id means: of a turn, the one that was made from it.

    Raises NotFound, and BadInput for a turn of several memories or none.
    """
    record = RecordId.parse(id)
    if record.kind == "m":
        return record.number
    if not await memory.turns(ids=[record.number]):
        raise NotFound(f"{memory.scope.user} has no turn t{record.number}")
    made = await _made_from(memory, record.number)
    if not made:  # nor when it was found, maybe
        await memory.remember()
        made = await _made_from(memory, record.number)
    if len(made) == 1:
        return made[0]
    if made:
        ids = ", ".join(f"m{number}" for number in made)
        raise BadInput(f"{id} has several memories: pass one of {ids}")
    raise BadInput(
        f"{id} is of a conversation that goes on, and has no memory yet: store what is right with "
        "`remember`, or erase it with `forget`"
    )


async def _made_from(memory: AsyncUserMemory, turn: int) -> list[int]:
    """Return the memories in effect that a turn supports: by itself, or else with others."""
    replaced = {mark.memory for mark in await memory.marks()}
    made = [
        each
        for each in await memory.memories()
        if turn in each.source_turns and each.id not in replaced
    ]
    alone = [each for each in made if len(each.source_turns) == 1]
    return [each.id for each in alone or made]


async def _mark_of(memory: AsyncUserMemory, number: int) -> Mark | None:
    """Return the mark that says why a memory is no longer in effect; None if it is in effect."""
    return next((mark for mark in await memory.marks() if mark.memory == number), None)


def _text(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)])


def _json(value: object) -> CallToolResult:
    return _text(json.dumps(value, ensure_ascii=False))
