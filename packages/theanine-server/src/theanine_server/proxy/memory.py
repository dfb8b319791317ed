"""Memory for the proxy: recall and log within a deadline, and never fail a request."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Literal, NamedTuple

import anyio

from theanine.client import AsyncUserMemory
from theanine.client.deadline import OutOfTime
from theanine.client.options import RecallArguments
from theanine.client.session import speakers
from theanine.clock import Clock
from theanine.errors import TheanineError
from theanine.messages import read_messages
from theanine.store import Store
from theanine.types import FINISH, SPOKEN, Message
from theanine_server.deadline import within

_log = logging.getLogger(__name__)

MAX_KEPT = 10_000
"""Maximum recollections in the cache, which repeats them within a loop of tool calls."""

REPEATED = 600.0
"""Seconds, at least, within which an equal request counts as a repetition."""

_SHARE_OF_RECALL = 0.9  # of the time that is left, so that what is done by then is in time

Mode = Literal["on", "read", "write", "off"]
"""Whether a request recalls (``on``, ``read``) and is logged (``on``, ``write``)."""
Status = Literal["on", "read", "write", "off", "no user", "partial", "late", "failed"]
"""Whether memory was done in time: with everything, with less, or not at all."""


@dataclass(slots=True)
class Exchange:
    """One request and its reply.

    Attributes:
        block: what was recalled, fenced; empty if nothing is relevant.
        added: the number of its parts.
        recalled: ids of its memories.
        after: the provider's id of the response that the request continues; empty if it has
            all messages.
        number: names the request: the same for one that is sent again within ``REPEATED``.
        status: whether memory was done in time.
        logged: whether the request is in the log.
    """

    status: Status
    memory: AsyncUserMemory | None = None
    thread: str = ""
    messages: Sequence[Message] = ()
    after: str = ""
    number: str = ""
    block: str = ""
    added: int = 0
    recalled: tuple[int, ...] = ()
    logged: bool = False
    writes: bool = False


class _Recalled(NamedTuple):
    """A recollection: what is added for it, how many parts and memories, whether less than all."""

    block: str
    parts: int
    memories: tuple[int, ...]
    is_partial: bool


@dataclass(slots=True)
class ProxyMemory:
    """Logs and recalls for the requests of one process.

    Attributes:
        deadline: seconds that memory may add to a request.
    """

    store: Store
    clock: Clock
    deadline: float
    _kept: OrderedDict[tuple[object, ...], _Recalled] = field(
        default_factory=OrderedDict[tuple[object, ...], "_Recalled"]
    )
    _ending: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def begin(
        self,
        memory: AsyncUserMemory,
        thread: str,
        messages: Sequence[Message],
        mode: Mode,
        after: str = "",
        *,
        profile: bool = False,
    ) -> Exchange:
        """Log what is new of a request, and recall for its newest user turn.

        With ``profile``, what is known of the user comes first in what is recalled.
        """
        exchange = Exchange(
            mode,
            memory=memory,
            thread=thread,
            messages=[_without_id(message) for message in messages],
            after=after,
            writes=mode in ("on", "write"),
        )
        try:
            await within(self.deadline, self._prepare(exchange, mode, profile=profile))
        except (TimeoutError, OutOfTime):
            exchange.status = "late"
        except Exception as error:  # noqa: BLE001 (a conversation goes on whatever memory does)
            exchange.status = "failed"
            _log.warning("proxy: %s: %s", memory.scope, error, exc_info=_trace(error))
        return exchange

    async def _prepare(self, exchange: Exchange, mode: Mode, *, profile: bool) -> None:
        memory, until = exchange.memory, anyio.current_time() + self.deadline
        assert memory is not None
        if exchange.writes:
            await self._log(exchange)
        if mode not in ("on", "read"):
            return
        names = speakers(memory.scope, memory.name)
        shown = read_messages(exchange.messages, names, self.clock())
        dialogue = [utterance for utterance in shown if utterance.role in SPOKEN]
        while dialogue and dialogue[-1].role != "user":
            dialogue.pop()  # a loop of tools goes on with what the user asked
        if not dialogue:
            return
        # The same turn gets the same words again, so that the prompt stays the same.
        key = (memory.scope, exchange.thread, _digest([t.text for t in dialogue]), profile)
        if key not in self._kept:
            left = _SHARE_OF_RECALL * (until - anyio.current_time())
            options = RecallArguments(deadline=max(left, sys.float_info.min), profile=profile)
            if exchange.logged:  # leave out what the request shows
                found = await memory.session(exchange.thread).recall(last=len(shown), **options)
            else:
                found = await memory.recall(dialogue, **options)
            self._kept[key] = _Recalled(
                "\n".join(message["content"] for message in found.messages()),
                len(found.parts),
                tuple(memory.id for memory in found.memories),
                bool(found.notes),
            )
            if len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        kept = self._kept[key]
        exchange.block, exchange.recalled = kept.block, kept.memories
        exchange.added = kept.parts if kept.block else 0
        if kept.is_partial:
            exchange.status = "partial"

    async def _log(self, exchange: Exchange) -> None:
        """Log what is new of a request, which may have been sent before.

        Its newest turn of the user has an id: between a request and its repetition, others may have
        been logged, or a part of a reply. Some time later, the same words are said again.
        """
        memory = exchange.memory
        assert memory is not None
        messages = [*exchange.messages]
        digest = _digest([exchange.thread, exchange.after, *map(dict, messages)])
        exchange.number = digest
        if messages and messages[-1].get("role") == "user":
            period = int(self.clock().timestamp() // REPEATED)
            before = f"{digest}-{period - 1}"
            known = await self.store.turns(
                memory.scope, thread=exchange.thread, key=f"turn-{before}"
            )
            exchange.number = before if known else f"{digest}-{period}"
            messages[-1] = {**messages[-1], "id": f"turn-{exchange.number}"}
        await memory.session(exchange.thread).add(messages)
        exchange.logged = True

    async def end(self, exchange: Exchange, replies: Sequence[Message], *, whole: bool) -> None:
        """Log the reply to a request; ``whole`` says whether it was received to its end.

        A reply to a request that came before is not logged again; only a whole one is after one
        that was broken off.
        """
        memory = exchange.memory
        if memory is None or not exchange.writes or not replies:
            return
        try:
            if not exchange.logged:
                await self._log(exchange)
            kind = "reply" if whole else "broken"
            named = [
                {**_without_id(reply), "id": f"{kind}-{exchange.number}.{position}"}
                for position, reply in enumerate(replies)
            ]
            utterances = read_messages(named, speakers(memory.scope, memory.name), self.clock())
            noted = [
                replace(
                    utterance,
                    recalled=exchange.recalled,
                    notes={} if whole else {FINISH: "broken_off"},
                )
                if utterance.role == "assistant"
                else utterance
                for utterance in utterances
            ]
            await memory.session(exchange.thread).add(noted, resent=False)
        except Exception as error:  # noqa: BLE001 (the client has its answer)
            _log.warning(
                "proxy: a reply to %s is not logged: %s",
                memory.scope,
                error,
                exc_info=_trace(error),
            )

    def end_soon(
        self, exchange: Exchange, replies: Sequence[Message], *, whole: bool
    ) -> asyncio.Task[None]:
        """Log the reply to a request in a task of its own, which :meth:`close` waits for.

        Whoever answers the request waits for it no longer than the deadline.
        """
        task = asyncio.create_task(self.end(exchange, replies, whole=whole))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return task

    async def close(self) -> None:
        """Wait until every reply is logged."""
        await asyncio.gather(*self._ending)


def _trace(error: Exception) -> bool:
    """Return whether an error is a bug, which is logged with its trace."""
    return not isinstance(error, TheanineError)


def default_thread(messages: Sequence[Message]) -> str:
    """Return a thread name for a conversation, from its first message."""
    first = next((each for each in messages if each.get("role") == "user"), None)
    return f"proxy-{_digest(None if first is None else first.get('content'))}"


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _without_id(message: Message) -> Message:
    """Return a message without the provider's id, which differs when a request is repeated."""
    return {name: value for name, value in message.items() if name != "id"}
