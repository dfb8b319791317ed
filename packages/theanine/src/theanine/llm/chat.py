"""The one place that calls a language model.

Every reply is journalled before it is used, under a hash of everything that led to it. A run after
a crash therefore replays what was paid for, repeats nothing, and the journal is the account book.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any, TypeVar

import anyio

from theanine.clock import Clock
from theanine.embeddings.wordllama import count_tokens, sanitize
from theanine.errors import ModelError, UnusableReply
from theanine.llm.base import ChatModel, Closable, Message, RawReply
from theanine.llm.cost_limits import CostLimits
from theanine.llm.limits import Limits
from theanine.llm.parsing import InvalidReply, finish_error, parse_reply, schema_of
from theanine.llm.prompt import PromptTemplate
from theanine.llm.retry import retrying
from theanine.store.base import Store
from theanine.store.values import JournalEntry
from theanine.types import Scope, Usage

T = TypeVar("T")
_SENT_BACK = 4_000
"""Characters of an unusable reply that are shown to the model again."""


class Chat:
    """A language model with its journal, retries, repairs, budgets and concurrency limit."""

    def __init__(
        self,
        model: ChatModel,
        store: Store,
        clock: Clock,
        limits: Limits | None = None,
        rng: Random | None = None,
    ) -> None:
        self.model = model
        self.store = store
        self.clock = clock
        self.limits = limits or Limits()
        self.rng = rng or Random()
        self.budgets = CostLimits(self.limits, store)
        self.gate = anyio.CapacityLimiter(self.limits.concurrency)

    def for_scope(self, scope: Scope, session: int | None = None) -> ScopedChat:
        """The model for one scope; ``session`` is the one being remembered, None before a reply."""
        return ScopedChat(self, scope, session)

    async def close(self) -> None:
        """Let go of the model's connections, if it has any. Nothing is asked afterwards."""
        if isinstance(self.model, Closable):
            await self.model.close()


@dataclass(frozen=True, slots=True)
class _Asked:
    """One request: what is sent, and under which key it is kept."""

    key: str
    step: PromptTemplate[Any]
    messages: Sequence[Message]
    schema: Mapping[str, Any] | None
    touches: tuple[int, ...]
    epoch: int

    @property
    def prompt(self) -> str:
        """All that goes into the reply, as the journal keeps it."""
        messages = [{"role": message.role, "text": message.text} for message in self.messages]
        return _json({"messages": messages, "schema": self.schema})


class ScopedChat:
    """Asks the model on behalf of one scope.

    Attributes:
        usage: what this caller has spent so far.
        epoch: the scope's ``State.epoch`` when the words for its prompts were read; what is asked
            after an erasure is then journalled without its words. None looks when asking.
    """

    def __init__(self, chat: Chat, scope: Scope, session: int | None) -> None:
        self.usage = Usage()
        self._chat = chat
        self._scope = scope
        self._session = session
        self.epoch: int | None = None

    @property
    def model(self) -> str:
        """The model's full name."""
        return self._chat.model.name

    async def ask(
        self,
        step: PromptTemplate[T],
        /,
        *,
        source_sessions: Iterable[int] = (),
        check: Callable[[T], str | None] | None = None,
        **values: str,
    ) -> T:
        """Fill the step's prompt, ask, and give the result as the step's type.

        An unusable reply is sent back with its fault named, ``Limits.repairs`` times at most.
        Prompt tokens are estimated with the bundled tokenizer where a token budget is set.

        Args:
            step: what to ask.
            touches: numbers of the sessions whose words are among ``values``.
            check: gives what is wrong with a result that fits its type, or None.
            values: fill the prompt's places.

        Raises:
            UnusableReply: no reply was usable; the next run asks anew.
            ModelUnavailable, ModelRejected: no reply; the failed calls are in the journal.
            BudgetExceeded: a budget forbids the call.
        """
        messages = [Message("user", sanitize(step.render(**values)))]
        own = () if self._session is None else (self._session,)
        touched = tuple(sorted({*source_sessions, *own}))
        epoch = self.epoch
        if epoch is None:
            epoch = (await self._chat.store.state(self._scope)).epoch
        keys: list[str] = []
        raw, fault = "", ""
        paid = 0
        for _ in range(1 + self._chat.limits.repairs):
            asked = self._asked(step, messages, touched, epoch)
            keys.append(asked.key)
            entry = await self._chat.store.journalled(self._scope, asked.key)
            if entry is None:
                entry = await self._pay(asked)
                paid += 1
            else:
                self.usage += Usage(replayed=1)
            raw = entry.reply
            try:
                return _usable(entry, step.result, check)
            except InvalidReply as error:
                fault = str(error)
            messages = [*messages, *_sent_back(raw, fault)]
        with anyio.CancelScope(shield=True):
            await self._chat.store.reject(self._scope, keys, fault)
        self.usage += Usage(failed=paid)
        raise UnusableReply(_unusable(step, self.model, len(keys), fault), raw)

    def _asked(
        self,
        step: PromptTemplate[Any],
        messages: Sequence[Message],
        touches: tuple[int, ...],
        epoch: int,
    ) -> _Asked:
        asked = _Asked("", step, messages, schema_of(step.result), touches, epoch)
        model = self._chat.model
        made_of = [step.name, step.version, model.name, dict(model.settings), asked.prompt]
        key = hashlib.sha256(_json(made_of).encode()).hexdigest()
        return replace(asked, key=key)

    async def _pay(self, asked: _Asked) -> JournalEntry:
        chat = self._chat
        what = f"{chat.model.name} (step {asked.step.label})"
        tokens = 0
        if chat.budgets.needs_tokens:
            tokens = sum(count_tokens(message.text) for message in asked.messages)
        async with chat.budgets.granted(self._scope, self._session, tokens, what):
            return await retrying(
                partial(self._call, asked),
                what,
                limits=chat.limits,
                gate=chat.gate,
                rng=chat.rng,
                failed=partial(self._note_failure, asked),
            )

    async def _call(self, asked: _Asked) -> JournalEntry:
        started = anyio.current_time()
        reply = await self._chat.model.complete(asked.messages, asked.schema)
        entry = self._answered(asked, reply, anyio.current_time() - started)
        self.usage += Usage(
            calls=1,
            input_tokens=entry.input_tokens,
            output_tokens=entry.output_tokens,
            cost=entry.cost,
            seconds=entry.seconds,
        )
        with anyio.CancelScope(shield=True):  # what is paid for is kept, whatever ends this run
            await self._chat.store.journal(self._scope, entry)
        return entry

    async def _note_failure(self, asked: _Asked, error: ModelError, seconds: float) -> None:
        self.usage += Usage(calls=1, failed=1, seconds=seconds)
        entry = self._entry(asked, error=str(error), rejected=True, cost=0.0, seconds=seconds)
        with anyio.CancelScope(shield=True):
            await self._chat.store.journal(self._scope, entry)

    def _answered(self, asked: _Asked, reply: RawReply, seconds: float) -> JournalEntry:
        return self._entry(
            asked,
            reply=sanitize(reply.text),
            error=finish_error(
                reply.finish
            ),  # a replay must see it too: the words alone don't tell
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            cost=reply.cost,
            seconds=seconds,
        )

    def _entry(self, asked: _Asked, **outcome: Any) -> JournalEntry:
        return JournalEntry(
            key=asked.key,
            step=asked.step.name,
            version=asked.step.version,
            model=self._chat.model.name,
            settings=dict(self._chat.model.settings),
            prompt=asked.prompt,
            at=self._chat.clock(),
            session=self._session,
            touches=asked.touches,
            epoch=asked.epoch,
            **outcome,
        )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _usable(entry: JournalEntry, result: type[T], check: Callable[[T], str | None] | None) -> T:
    if entry.error:
        raise InvalidReply(entry.error)
    value = parse_reply(entry.reply, result)
    if check is not None and (fault := check(value)):
        raise InvalidReply(fault)
    return value


def _sent_back(raw: str, fault: str) -> tuple[Message, Message]:
    shown = raw if len(raw) <= _SENT_BACK else f"{raw[:_SENT_BACK]} […]"
    return (
        Message("assistant", shown.strip() or "(nothing)"),
        Message(
            "user",
            f"This reply can't be used: {fault}. Answer the task above again, whole and in the "
            "form it asks for, with nothing around it.",
        ),
    )


def _unusable(step: PromptTemplate[Any], model: str, tries: int, fault: str) -> str:
    times = "1 reply" if tries == 1 else f"{tries} replies"
    return (
        f"step {step.label}: {times} of {model} could not be used; of the last, {fault}. "
        "The raw replies are in the journal; the next run asks anew"
    )
