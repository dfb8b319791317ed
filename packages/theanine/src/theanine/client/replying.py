"""Replies in a live session: recall, ask the model, log the reply."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from theanine.cancellation import finish
from theanine.client.engine import Engine
from theanine.client.merging import memory_ids
from theanine.client.reply_options import ReplyArguments, reply_options
from theanine.errors import Stale
from theanine.messages import read_messages
from theanine.messages.parts import as_json
from theanine.store.validate import check_time
from theanine.types import FINISH, UNFINISHED, Message, Role, Scope, Turn, Utterance

if TYPE_CHECKING:
    from theanine.methods.base import Reply

MAX_REPLIES = 3
"""Maximum attempts at a reply when something is forgotten during each."""


@dataclass(frozen=True, slots=True)
class Replying:
    """The parts of a session that its replies use.

    Attributes:
        speakers: the speaker for each role.
        turns: returns the session's turns so far.
        log: logs turns, and raises Stale if something was erased since the epoch.
        shared: other scopes that are recalled from.
    """

    engine: Engine
    scope: Scope
    speakers: dict[Role, str]
    turns: Callable[[], Awaitable[Sequence[Turn]]]
    log: Callable[[list[Utterance], int], Awaitable[object]]
    shared: Sequence[Scope]

    async def reply(
        self, stream: bool, at: datetime | None, arguments: ReplyArguments
    ) -> AsyncGenerator[str | Reply]:
        """Yield the text of a streamed reply as it arrives and, once it is logged, the reply."""
        if at is not None:  # before a model call is paid for
            check_time(at, "the reply's time")
        recall, replying = reply_options(stream, **arguments)
        bounds = await self.engine.recall_options(self.scope, recall)
        name = self.speakers["assistant"]
        for attempt in range(1, MAX_REPLIES + 1):
            turns = await self.turns()
            try:
                reply, epoch = await self.engine.recalling.reply(
                    turns, self.scope, name, bounds, replying, self.shared
                )
            except Stale:
                if attempt == MAX_REPLIES:
                    raise
                continue
            if reply.pieces:
                async with aclosing(self._read(reply, at, epoch)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            try:
                await self._log(reply, at, epoch)
            except Stale:
                if attempt == MAX_REPLIES:
                    raise
                continue
            if stream:
                yield reply.text
            yield reply
            return

    async def _read(
        self, reply: Reply, at: datetime | None, epoch: int
    ) -> AsyncGenerator[str | Reply]:
        """Yield the pieces of a reply that has begun and, once it is logged, the reply."""
        assert reply.pieces is not None
        received: list[str] = []
        try:
            async with aclosing(reply.pieces):
                async for piece in reply.pieces:
                    if isinstance(piece, str):
                        received.append(piece)
                        yield piece
                    else:
                        reply = reply.completed(piece)
        finally:
            text = "".join(received).strip()
            if reply.pieces and text:
                broken_off = replace(reply, text=text, finish="broken_off")
                with suppress(Stale):
                    await finish(self._log(broken_off, at, epoch))
        await finish(self._log(reply, at, epoch))  # its reader has had all of it
        yield reply

    async def _log(self, reply: Reply, at: datetime | None, epoch: int) -> None:
        calls: list[Message] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": as_json(call.arguments)},
            }
            for call in reply.tool_calls
        ]
        message = {"role": "assistant", "content": reply.text, "tool_calls": calls}
        said = read_messages([message], self.speakers, at or self.engine.clock())
        notes = {**reply.notes, FINISH: reply.finish} if reply.finish in UNFINISHED else reply.notes
        recalled = memory_ids(reply.recollection, self.scope)
        await self.log([replace(turn, recalled=recalled, notes=notes) for turn in said], epoch)
