"""The only place that calls a language model.

Every reply is journalled before it is used, under a hash of everything that led to it. A run after
a crash therefore replays the replies already paid for, and the journal is the record of all costs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, TypeVar

import anyio

from theanine.clock import Clock
from theanine.errors import ModelError, UnusableReply
from theanine.llm.base import ChatModel, Closable, Message, RequestOptions
from theanine.llm.bounds import ReplyBounds
from theanine.llm.limits import CostLimits, Limits
from theanine.llm.parsing import CUT_OFF, FINISH_ERRORS, InvalidReply, parse_reply
from theanine.llm.prompt import PromptTemplate
from theanine.llm.retry import call_with_retries
from theanine.llm.schema import schema_of
from theanine.store.base import Store
from theanine.store.values import JournalEntry
from theanine.tokenizer import count_tokens, sanitize
from theanine.types import Scope, Usage

T = TypeVar("T")
_QUOTED_CHARACTERS = 4_000
"""Characters of an unusable reply that are quoted in the repair request."""
_QUOTED_OF_CUT_OFF = 300
"""The same of a reply that ran on until its bound."""


class Chat:
    """A chat model with its journal, retries, repairs, budgets and concurrency limit."""

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
        self.cost_limits = CostLimits(self.limits, store)
        self.limiter = anyio.CapacityLimiter(self.limits.concurrency)

    def for_scope(self, scope: Scope, session: int | None = None) -> ScopedChat:
        """Return the chat of one scope.

        ``session`` is the session being remembered; None for calls before a reply.
        """
        return ScopedChat(self, scope, session)

    async def close(self) -> None:
        """Close the model's connections, if it has any; no call follows."""
        if isinstance(self.model, Closable):
            await self.model.close()


@dataclass(frozen=True, slots=True)
class _Request:
    """One request to the model.

    Attributes:
        key: the journal key.
        prompt: messages and schema as JSON: all that the reply depends on, as journalled.
        bounds: the most that is needed of the reply; not in the key.
    """

    key: str
    step: PromptTemplate[Any]
    messages: Sequence[Message]
    schema: Mapping[str, Any] | None
    prompt: str
    bounds: ReplyBounds
    source_sessions: tuple[int, ...]
    epoch: int


class ScopedChat:
    """Calls the model on behalf of one scope.

    Attributes:
        usage: calls, tokens and cost of this object so far.
        epoch: the scope's erasure epoch (``ScopeVersion.epoch``) when the texts for its prompts
            were read. If something was erased since, calls are journalled without their texts. None
            reads the current epoch with each call.
    """

    def __init__(self, chat: Chat, scope: Scope, session: int | None) -> None:
        self.usage = Usage()
        self.epoch: int | None = None
        self._chat = chat
        self._scope = scope
        self._session = session

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
        bounds: ReplyBounds | None = None,
        repairs: int | None = None,
        **values: str,
    ) -> T:
        """Render the step's prompt, call the model, and return the reply as the step's type.

        An unusable reply is returned to the model with its error, up to ``Limits.repairs`` times.
        A reply that was only cut off at its bound is used without what is incomplete, and counted
        in ``Usage.truncated``. If a token budget is set, prompt tokens are estimated with the
        bundled tokenizer.

        Args:
            source_sessions: numbers of the sessions whose text is in ``values``; erasing one of
                them erases the text of this call from the journal.
            check: returns an error message for a result that fits its type but is wrong, or None.
            bounds: bounds of this reply; None for the step's own.
            repairs: how often an unusable reply is returned; None for ``Limits.repairs``.
            values: the prompt's variables.

        Raises:
            UnusableReply: no reply was usable; the next run calls the model again.
            ModelUnavailable, ModelRejected: no reply; the failed calls are in the journal.
            BudgetExceeded: the call would exceed a budget.
        """
        messages = [Message("user", sanitize(step.render(**values)))]
        sessions = (
            {*source_sessions} if self._session is None else {*source_sessions, self._session}
        )
        epoch = self.epoch
        if epoch is None:
            epoch = (await self._chat.store.scope_version(self._scope)).epoch
        keys: list[str] = []
        calls = 0
        reply, error = "", ""
        for _ in range(1 + (self._chat.limits.repairs if repairs is None else repairs)):
            request = self._request(step, messages, bounds, tuple(sorted(sessions)), epoch)
            keys.append(request.key)
            entry = await self._chat.store.find_journal_entry(self._scope, request.key)
            if entry is None:
                entry = await self._send(request)
                calls += 1
            else:
                self.usage += Usage(replayed=1)
            reply = entry.reply
            cut_off = entry.error == CUT_OFF
            try:
                if entry.error and not cut_off:
                    raise InvalidReply(entry.error)
                prompt = messages[0].text
                result = parse_reply(reply, step.result, prompt=prompt, cut_off=cut_off)
                if check is not None and (fault := check(result)):
                    raise InvalidReply(fault)
            except InvalidReply as invalid:
                error = str(invalid)
            else:
                self.usage += Usage(truncated=int(cut_off))
                return result
            messages = [*messages, *_repair_messages(reply, error, cut_off)]
        self.usage += Usage(failed=calls)
        with anyio.CancelScope(shield=True):
            await self._chat.store.reject_journal_entries(self._scope, keys, error)
        replies = "the reply" if len(keys) == 1 else f"{len(keys)} replies"
        raise UnusableReply(
            f"step {step.label}: {replies} of {self.model} could not be used; last error: {error}. "
            "The raw replies are in the journal; the next run calls the model again",
            reply,
        )

    def _request(
        self,
        step: PromptTemplate[Any],
        messages: Sequence[Message],
        bounds: ReplyBounds | None,
        source_sessions: tuple[int, ...],
        epoch: int,
    ) -> _Request:
        schema = schema_of(step.result)
        listed = [{"role": message.role, "text": message.text} for message in messages]
        prompt = _json({"messages": listed, "schema": schema})
        model = self._chat.model
        hashed = _json([step.name, step.version, model.name, dict(model.settings), prompt])
        key = hashlib.sha256(hashed.encode()).hexdigest()
        bounds = bounds or step.bounds
        return _Request(key, step, messages, schema, prompt, bounds, source_sessions, epoch)

    async def _send(self, request: _Request) -> JournalEntry:
        """Call the model within budgets and retries."""
        chat = self._chat
        label = f"{chat.model.name} (step {request.step.label})"
        tokens = 0
        if chat.cost_limits.needs_tokens:
            tokens = sum(count_tokens(message.text) for message in request.messages)
        async with chat.cost_limits.reserve(self._scope, self._session, tokens, label):
            return await call_with_retries(
                partial(self._call, request),
                label,
                limits=chat.limits,
                limiter=chat.limiter,
                rng=chat.rng,
                on_failure=partial(self._record_failure, request),
            )

    async def _call(self, request: _Request) -> JournalEntry:
        started = anyio.current_time()
        reply = await self._chat.model.complete(
            request.messages, request.schema, RequestOptions(bounds=request.bounds)
        )
        usage = Usage(
            calls=1,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            cost=reply.cost,
            seconds=anyio.current_time() - started,
        )
        # The finish reason is stored as an error because a replay sees the text alone.
        error = FINISH_ERRORS.get(reply.finish, "")
        return await self._record(request, usage, reply=sanitize(reply.text), error=error)

    async def _record_failure(self, request: _Request, error: ModelError, seconds: float) -> None:
        usage = Usage(calls=1, failed=1, seconds=seconds)
        await self._record(request, usage, error=str(error))

    async def _record(
        self, request: _Request, usage: Usage, *, reply: str = "", error: str
    ) -> JournalEntry:
        self.usage += usage
        entry = JournalEntry(
            key=request.key,
            step=request.step.name,
            version=request.step.version,
            model=self._chat.model.name,
            settings=dict(self._chat.model.settings),
            prompt=request.prompt,
            reply=reply,
            error=error,
            rejected=usage.failed > 0,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost=usage.cost,
            seconds=usage.seconds,
            at=self._chat.clock(),
            session=self._session,
            touches=request.source_sessions,
            epoch=request.epoch,
        )
        with anyio.CancelScope(shield=True):  # a paid reply is stored even if this run is cancelled
            await self._chat.store.add_journal_entry(self._scope, entry)
        return entry


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _repair_messages(reply: str, error: str, cut_off: bool) -> tuple[Message, Message]:
    """Return the model's reply and a request to repair it; their texts are in the journal key."""
    most = _QUOTED_OF_CUT_OFF if cut_off else _QUOTED_CHARACTERS
    quoted = reply if len(reply) <= most else f"{reply[:most]} […]"
    shorter = " Keep it shorter." if error == CUT_OFF else ""
    return (
        Message("assistant", quoted.strip() or "(nothing)"),
        Message(
            "user",
            f"This reply can't be used: {error}. Answer the task above again, whole and in the "
            f"form it asks for, with nothing around it.{shorter}",
        ),
    )
