"""The next message of a conversation, whole or as it arrives."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial

import anyio

from theanine.cancellation import finish
from theanine.errors import ModelError, ModelUnavailable, UnusableReply
from theanine.fences import REMEMBERED_HEADING
from theanine.llm.base import (
    DEFAULT_REQUEST,
    Message,
    PricedModel,
    RawReply,
    RequestOptions,
    StreamingModel,
    ToolCall,
)
from theanine.llm.calls import JournalledCalls, ModelRequest, count_input
from theanine.llm.limits import Limits
from theanine.llm.parsing import CUT_OFF, InvalidReply, parse_message
from theanine.llm.prompt import PromptTemplate
from theanine.llm.retry import call_with_retries
from theanine.store.values import JournalEntry
from theanine.telemetry import INPUT_TOKENS, OUTPUT_TOKENS
from theanine.tokenizer import count_tokens, sanitize
from theanine.types import Usage


class Conversation(JournalledCalls):
    """Continues conversations on behalf of one scope."""

    async def converse(
        self,
        step: PromptTemplate[str],
        messages: Sequence[Message],
        options: RequestOptions = DEFAULT_REQUEST,
        *,
        stream: bool = False,
        source_sessions: Iterable[int] = (),
    ) -> AsyncGenerator[str | RawReply]:
        """Send a conversation, somebody waiting for its next message, and yield the whole reply.

        With ``stream``, the text comes before it, piece by piece as it arrives. Calls without a
        reply are repeated ``Limits.reply_retries`` times, but not once there is a first piece. A
        reply that only repeats what was recalled is asked for again, as often, in other words.

        Args:
            step: the prompt that the messages were made with.
            source_sessions: as in :meth:`ask`.

        Raises as :meth:`ask` does.
        """
        listed = [replace(message, text=sanitize(message.text)) for message in messages]
        sessions = tuple(sorted({*source_sessions}))
        epoch = await self._epoch()
        request = self._request(step, listed, options, sessions, epoch)
        error = ""
        for _ in range(1 + self._chat.limits.reply_retries):
            streamed = False
            entry = await self._find_entry(request)
            if entry is not None:
                self.usage += Usage(replayed=1)
            elif stream and isinstance(self._chat.model, StreamingModel):
                async with aclosing(self._stream(request, self._chat.model)) as pieces:
                    async for piece in pieces:
                        if isinstance(piece, JournalEntry):
                            entry = piece
                        else:
                            streamed = True
                            yield piece
            else:
                entry = await self._send(request, self._reply_limits)
            assert entry is not None
            try:
                reply = _parse(entry, options, streamed)
            except InvalidReply as invalid:
                error = str(invalid)
                rejected = [request.key]
                await finish(self._chat.store.reject_journal_entries(self._scope, rejected, error))
                if streamed or (entry.error and entry.error != CUT_OFF):
                    break
                request = self._request(step, _ask_again(listed), options, sessions, epoch)
            else:
                self.usage += Usage(truncated=int(reply.finish == "length"))
                if stream and reply.text and not streamed:
                    yield reply.text
                yield reply
                return
        self.usage += Usage(failed=1)
        raise UnusableReply(
            f"step {step.label}: the reply of {self.model} could not be used: {error}. "
            "The raw reply is in the journal; the next call asks the model again"
        )

    async def _stream(
        self, request: ModelRequest, model: StreamingModel
    ) -> AsyncGenerator[str | JournalEntry]:
        """Yield the text of a reply as it arrives, and last its entry in the journal.

        What arrived before a failure, or before the consumer stopped, is journalled as failed, with
        an estimate of its tokens.
        """
        limits = self._reply_limits
        borrower = object()  # one chunk may be awaited in another task than the next
        async with self._reserved(request, limits) as granted:
            await self._chat.limiter.acquire_on_behalf_of(borrower)
            try:
                async with aclosing(self._receive(granted, model, limits)) as pieces:
                    async for piece in pieces:
                        yield piece
            finally:
                self._chat.limiter.release_on_behalf_of(borrower)

    async def _receive(
        self, request: ModelRequest, model: StreamingModel, limits: Limits
    ) -> AsyncGenerator[str | JournalEntry]:
        started, received = anyio.current_time(), list[str]()
        pieces: AsyncGenerator[str | RawReply] | None = None

        async def begin() -> str | RawReply:
            nonlocal pieces
            pieces = model.stream(request.messages, request.options)
            return await anext(pieces)

        entry, error = None, "the stream was broken off"
        try:
            with self._span(request, streamed=True) as span:
                piece = await call_with_retries(
                    begin,
                    self._label(request),
                    limits=limits,
                    limiter=anyio.CapacityLimiter(1),
                    rng=self._chat.rng,
                    on_failure=partial(self._record_failure, request),
                )
                assert pieces is not None
                left = request.max_characters
                while isinstance(piece, str):
                    received.append(sanitize(piece)[:left])
                    left -= len(received[-1])
                    yield received[-1]
                    piece = await self._next_piece(pieces, request) if left else None
                if piece is None:
                    piece = self._cut_off(request, "".join(received))
                span.attributes |= {
                    INPUT_TOKENS: piece.input_tokens,
                    OUTPUT_TOKENS: piece.output_tokens,
                }
            seconds = anyio.current_time() - started
            entry = await self._record_reply(request, piece, seconds)
        except ModelError as failure:
            error = str(failure)
            raise
        finally:
            seconds = anyio.current_time() - started
            unrecorded = "" if entry is not None else "".join(received)
            await finish(self._break_off(request, pieces, unrecorded, seconds, error))
        yield entry

    async def _break_off(
        self,
        request: ModelRequest,
        pieces: AsyncGenerator[str | RawReply] | None,
        received: str,
        seconds: float,
        error: str,
    ) -> None:
        """Close a stream, and journal what was received of a reply that has no entry."""
        if pieces is not None:
            await pieces.aclose()
        if received:
            usage = self._estimated_usage(request, received, seconds)
            await self._record(request, usage, reply=received, error=error, last=True)

    async def _next_piece(
        self, pieces: AsyncGenerator[str | RawReply], request: ModelRequest
    ) -> str | RawReply:
        timeout = self._chat.limits.timeout
        with anyio.move_on_after(timeout):
            return await anext(pieces)
        raise ModelUnavailable(f"{self._label(request)} sent nothing for {timeout:g} s")

    def _cut_off(self, request: ModelRequest, text: str) -> RawReply:
        """Return a reply that was not received to its end, with an estimate of its tokens."""
        used = self._estimated_usage(request, text, 0)
        return RawReply(
            text=text,
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            cost=used.cost,
            finish="length",
        )

    def _estimated_usage(self, request: ModelRequest, text: str, seconds: float) -> Usage:
        model = self._chat.model
        used = count_input(request), count_tokens(text)
        cost = model.price(*used) if isinstance(model, PricedModel) else None
        return Usage(
            calls=1,
            failed=1,
            input_tokens=used[0],
            output_tokens=used[1],
            cost=cost,
            seconds=seconds,
        )

    @property
    def _reply_limits(self) -> Limits:
        return replace(self._chat.limits, retries=self._chat.limits.reply_retries)


def _ask_again(messages: Sequence[Message]) -> list[Message]:
    """Return a conversation that asks for its newest message once more, by the user's words alone.

    The unusable reply is not quoted: small models would repeat it.
    """
    words = messages[-1].text.partition(f"\n\n{REMEMBERED_HEADING}\n")[0]
    again = Message("user", f"Answer this in your own words: {words}")
    return [*messages, Message("assistant", "(nothing)"), again]


def _parse(entry: JournalEntry, options: RequestOptions, streamed: bool) -> RawReply:
    """Return a journalled reply, without its usage; the text of a streamed one as it was received.

    Raises InvalidReply for one that the model has not ended, or of which nothing is left.
    """
    text, calls = entry.reply, ()
    cut_off = entry.error == CUT_OFF
    if entry.error and not cut_off:
        raise InvalidReply(entry.error)
    if options.tools:
        value = json.loads(entry.reply)
        text, calls = value["text"], tuple(ToolCall(**call) for call in value["tool_calls"])
    if not streamed and (text.strip() or not calls):
        text = parse_message(text, cut_off=cut_off)
    if not text.strip() and not calls:
        raise InvalidReply("it is empty")
    finish = "length" if cut_off else "tool_call" if calls else "stop"
    return RawReply(text=text.strip(), finish=finish, tool_calls=calls)
