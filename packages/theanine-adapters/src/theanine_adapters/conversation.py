"""A conversation that a framework holds: its turns in the log, what matters in its prompts."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Hashable, Sequence
from typing import Any, TypeVar

from theanine.client.options import RecallArguments
from theanine.types import Message, Recollection, Scope
from theanine_adapters.handles import Call, UserHandle

R = TypeVar("R")
CAPACITY = 1_000
"""Conversations whose recollection is kept from one request of a run to the next."""

_log = logging.getLogger(__name__)


class Conversation:
    """The conversation under one key of a user's sessions.

    Args:
        user: the user's handle.
        key: the key of the session.
        options: options of each recall, such as ``budget``.
        strict: raise what goes wrong with memory; otherwise it is logged as an error, and the run
            goes on without a recollection.
    """

    def __init__(self, user: UserHandle, key: str, options: RecallArguments, strict: bool) -> None:
        self._key = key
        self.use(user)
        self._options, self._strict = options, strict
        self._asked: Hashable = None
        self._recollection: Recollection | None = None
        self._recorded: list[Message] = []

    @property
    def recorded(self) -> Sequence[Message]:
        """The messages of the latest ``record``, all of which are logged."""
        return self._recorded

    def use(self, user: UserHandle) -> None:
        """Go on with another handle of the user, such as of a client that was opened later."""
        self._user, self._live = user, user.session(self._key)

    def go_on_from(self, recorded: Sequence[Message]) -> None:
        """Take messages as logged, by a conversation under the same key."""
        self._recorded = [*recorded]

    async def record(self, messages: Sequence[Message], call: Call) -> None:
        """Log what is new of the messages so far; what is logged already stays as it is.

        If they begin with those of the call before, the rest is new. Otherwise the store compares
        them with the thread, where a single message is always new.
        """
        known = len(self._recorded)
        goes_on = known > 0 and [*messages[:known]] == self._recorded
        new = messages[known:] if goes_on else messages
        if await self._log(new, call, resent=not goes_on):
            self._recorded = [*messages]
        else:  # nobody knows how much was logged
            self._recorded = []

    async def append(self, messages: Sequence[Message], call: Call) -> None:
        """Log messages, all of which are new."""
        await self._log(messages, call, resent=False)

    async def _log(self, messages: Sequence[Message], call: Call, *, resent: bool) -> bool:
        """Log messages, and return whether they are logged."""
        if not messages:
            return True
        adding = call(self._live.add, messages, recalled=self._recollection, resent=resent)
        return await self._guard(adding, "the turns were not logged") is not None

    async def add(self, messages: Sequence[Message], call: Call) -> None:
        """Log messages, all of which are new; whatever goes wrong is raised."""
        await call(self._live.add, messages, recalled=self._recollection, resent=False)

    async def recall(self, asked: Hashable, shown: int, call: Call) -> str:
        """Return what to put after the user's words; empty if nothing is relevant.

        Args:
            asked: tells the user's newest message from earlier ones; memory is asked once for each.
            shown: how many of the newest turns the model sees anyway.
        """
        if asked != self._asked:
            work = call(self._live.recall, last=max(shown, 1), **self._options)
            self._recollection = await self._guard(work, "nothing was recalled")
            self._asked = asked
        return block_of(self._recollection)

    async def recall_for(self, asked: Hashable, dialogue: Sequence[Message], call: Call) -> str:
        """Return what to put beside a dialogue that isn't logged; see :meth:`recall`."""
        if asked != self._asked:
            work = call(self._user.recall, dialogue, **self._options)
            self._recollection = await self._guard(work, "nothing was recalled")
            self._asked = asked
        return block_of(self._recollection)

    async def _guard(self, work: Awaitable[R], otherwise: str) -> R | None:
        try:
            return await work
        except Exception:
            if self._strict:
                raise
            _log.exception("memory failed, so %s; the run goes on", otherwise)
            return None


class Conversations:
    """The conversations of one adapter, by user and key; the least recently used are dropped."""

    def __init__(self, options: RecallArguments, strict: bool) -> None:
        self._options, self._strict = options, strict
        self._known: OrderedDict[tuple[Scope, str], Conversation] = OrderedDict()

    def get(self, user: UserHandle, key: str) -> Conversation:
        """Return the conversation of a user under a key."""
        place = (user.scope, key)
        if place not in self._known:
            self._known[place] = Conversation(user, key, self._options, self._strict)
            if len(self._known) > CAPACITY:
                self._known.popitem(last=False)
        self._known.move_to_end(place)
        self._known[place].use(user)
        return self._known[place]


def block_of(recollection: Recollection | None) -> str:
    """Return a recollection as a text, fenced as data; empty if it is."""
    messages = recollection.messages() if recollection else []
    return str(messages[0]["content"]) if messages else ""


def append_text(content: Any, text: str, kind: str = "text", *, plain: bool = False) -> Any:
    """Return a message's content, a string or a list of parts, with a text after it.

    In a list, it is a part of a type, or a ``plain`` string.
    """
    if isinstance(content, str):
        return f"{content}\n\n{text}" if content else text
    return [*content, text if plain else {"type": kind, "text": text}]
