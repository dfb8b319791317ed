"""What the proxy asks of memory for one request: within a deadline, and never failing it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Literal

from theanine.client import AsyncUserMemory
from theanine.client.session import speakers
from theanine.clock import Clock
from theanine.errors import TheanineError
from theanine.messages import read_messages
from theanine.server.deadline import within
from theanine.types import FINISH, SPOKEN, Message

_log = logging.getLogger(__name__)

MAX_KEPT = 10_000
"""Recollections that a process keeps, to give the same one again within a loop of tools."""

Mode = Literal["on", "read", "write", "off"]
"""Whether a request recalls (``on``, ``read``) and is logged (``on``, ``write``)."""
Status = Literal["on", "read", "write", "off", "no user", "late", "failed"]
"""What became of memory for a request; the last two mean that it went on without."""


@dataclass(slots=True)
class Exchange:
    """One request and its reply.

    Attributes:
        block: what was recalled, fenced; empty if nothing is relevant.
        recalled: ids of its memories.
        status: what became of memory.
        logged: whether the request is in the log.
    """

    status: Status
    memory: AsyncUserMemory | None = None
    thread: str = ""
    messages: Sequence[Message] = ()
    block: str = ""
    recalled: tuple[int, ...] = ()
    logged: bool = False
    writes: bool = False


@dataclass(slots=True)
class ProxyMemory:
    """Logs and recalls for the requests of one process.

    Attributes:
        deadline: seconds that memory may add to a request.
    """

    clock: Clock
    deadline: float
    _kept: OrderedDict[tuple[object, ...], tuple[str, tuple[int, ...]]] = field(
        default_factory=OrderedDict[tuple[object, ...], tuple[str, tuple[int, ...]]]
    )
    _ending: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def begin(
        self, memory: AsyncUserMemory, thread: str, messages: Sequence[Message], mode: Mode
    ) -> Exchange:
        """Log what is new of a request, and recall for its newest user turn."""
        exchange = Exchange(
            mode,
            memory=memory,
            thread=thread,
            messages=[_without_id(message) for message in messages],
            writes=mode in ("on", "write"),
        )
        try:
            await within(self.deadline, self._prepare(exchange, mode))
        except TimeoutError:
            exchange.status = "late"
        except Exception as error:  # noqa: BLE001 (a conversation goes on whatever memory does)
            exchange.status = "failed"
            _log.warning("proxy: %s: %s", memory.scope, error, exc_info=_trace(error))
        return exchange

    async def _prepare(self, exchange: Exchange, mode: Mode) -> None:
        memory = exchange.memory
        assert memory is not None
        if exchange.writes:
            await memory.session(exchange.thread).add(exchange.messages)
            exchange.logged = True
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
        key = (memory.scope, exchange.thread, _digest([t.text for t in dialogue]))
        if key not in self._kept:
            if exchange.logged:  # leave out what the request shows
                found = await memory.session(exchange.thread).recall(last=len(shown))
            else:
                found = await memory.recall(dialogue)
            block = "\n".join(message["content"] for message in found.messages())
            self._kept[key] = (block, tuple(memory.id for memory in found.memories))
            if len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        exchange.block, exchange.recalled = self._kept[key]

    async def end(self, exchange: Exchange, replies: Sequence[Message], *, whole: bool) -> None:
        """Log the reply to a request; ``whole`` says whether it was received to its end.

        A reply to a request that came before is not logged again.
        """
        memory = exchange.memory
        if memory is None or not exchange.writes or not replies:
            return
        number = f"reply-{_digest([exchange.thread, *map(dict, exchange.messages)])}"
        named = [
            {**_without_id(reply), "id": f"{number}.{position}"}
            for position, reply in enumerate(replies)
        ]
        try:
            session = memory.session(exchange.thread)
            if not exchange.logged:
                await session.add(exchange.messages)
                exchange.logged = True
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
            await session.add(noted, resent=False)
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
        """Log the reply to a request in a task of its own, which :meth:`close` waits for."""
        task = asyncio.create_task(self.end(exchange, replies, whole=whole))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return task

    async def close(self) -> None:
        """Wait until every reply is logged."""
        await asyncio.gather(*self._ending)


def _trace(error: Exception) -> bool:
    """Whether an error is a bug rather than the store's or the caller's."""
    return not isinstance(error, TheanineError)


def default_thread(messages: Sequence[Message]) -> str:
    """Return a name for the conversation that messages belong to: by its first one."""
    first = next((each for each in messages if each.get("role") == "user"), None)
    return f"proxy-{_digest(None if first is None else first.get('content'))}"


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _without_id(message: Message) -> Message:
    """Return a message without the provider's id, which differs when a request is repeated."""
    return {name: value for name, value in message.items() if name != "id"}
