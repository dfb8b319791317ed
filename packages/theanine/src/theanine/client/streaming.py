"""Replies that are streamed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, Self

import anyio

from theanine.cancellation import finish

if TYPE_CHECKING:
    from theanine.methods.base import Reply


class AsyncReplyStream:
    """The text of a reply, piece by piece: iterate with ``async for``.

    The reply begins with the first piece. If it is not read to its end, what was received is logged
    and marked as broken off, at the latest when the session is used or ended, or the client closed.

    Args:
        begin: called before the first piece.

    Attributes:
        reply: the whole reply, with its recollection and tool calls, once it has ended; None
            before, and for one that was broken off.
    """

    def __init__(
        self,
        pieces: AsyncGenerator[str | Reply],
        begin: Callable[[AsyncReplyStream], Awaitable[None]],
    ) -> None:
        self._pieces = pieces
        self._begin: Callable[[AsyncReplyStream], Awaitable[None]] | None = begin
        self._lock = anyio.Lock()  # so that another task can break it off
        self.reply: Reply | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        try:
            async with self._lock:
                if begin := self._begin:
                    self._begin = None
                    await begin(self)
                async for piece in self._pieces:
                    if isinstance(piece, str):
                        return piece
                    self.reply = piece
        except anyio.get_cancelled_exc_class():
            await finish(self.aclose())  # it may not have reached the model's stream
            raise
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Break the reply off if it has not ended."""
        async with self._lock:
            await self._pieces.aclose()

    async def whole(self) -> Reply:
        """Read the reply to its end, and return it."""
        async for _ in self:
            pass
        assert self.reply is not None, "a reply that was broken off"
        return self.reply

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()
