"""Requests to a chat model, each journalled before its reply is used."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from theanine.cancellation import finish
from theanine.errors import BudgetExceeded, ModelError
from theanine.llm.base import (
    DEFAULT_REQUEST,
    BoundedModel,
    Message,
    PricedModel,
    RawReply,
    RequestOptions,
)
from theanine.llm.bounds import CHARACTERS_PER_TOKEN, ReplyBounds
from theanine.llm.budgets import Grant, PlannedCall
from theanine.llm.limits import Limits
from theanine.llm.parsing import CUT_OFF, FINISH_ERRORS, TOO_LONG
from theanine.llm.prompt import PromptTemplate
from theanine.llm.retry import call_with_retries
from theanine.llm.schema import schema_prompt
from theanine.store.values import JournalEntry
from theanine.telemetry import INPUT_TOKENS, OUTPUT_TOKENS, Span, model_call
from theanine.tokenizer import count_tokens, sanitize
from theanine.types import Scope, Usage

if TYPE_CHECKING:
    from theanine.llm.chat import Chat

_MIN_CHARACTERS = 1_000
"""Maximum characters of a reply of very few tokens."""
_JSON_CHARACTERS = 6
"""Maximum characters by which JSON spells one."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to the model.

    Attributes:
        key: the journal key.
        prompt: messages, schema and options as JSON: all that the reply depends on, as journalled.
        options: those, with the bounds of the reply, which are not in the key.
        max_characters: maximum characters of the reply's text; the rest is cut off.
        grant: what the call may use of the budgets.
    """

    key: str
    step: PromptTemplate[Any]
    messages: Sequence[Message]
    schema: Mapping[str, Any] | None
    prompt: str
    options: RequestOptions
    max_characters: int
    source_sessions: tuple[int, ...]
    epoch: int
    grant: Grant = field(default_factory=Grant)

    @property
    def max_journalled(self) -> int:
        """Maximum characters of the reply as journalled, which is JSON where tools are offered."""
        return self.max_characters * (_JSON_CHARACTERS + 1 if self.options.tools else 1)


class JournalledCalls:
    """Requests on behalf of one scope: journalled, with budgets and retries.

    Attributes:
        usage: calls, tokens and cost of this object so far.
        epoch: the scope's erasure epoch (``ScopeVersion.epoch``) when the texts for its prompts
            were read. If something was erased since, calls are journalled without their texts. None
            reads the current epoch with each call.
        recall_patience: seconds for one call during a recall, if that is less than by the limits.
    """

    def __init__(self, chat: Chat, scope: Scope, session: int | None) -> None:
        self.usage: Usage = Usage()
        self.epoch: int | None = None
        self.recall_patience: float | None = None
        self._chat = chat
        self._scope = scope
        self._session = session

    @property
    def model(self) -> str:
        """The model's full name."""
        return self._chat.model.name

    @property
    def limits(self) -> Limits:
        """The limits of the model's calls."""
        limits, patience = self._chat.limits, self.recall_patience
        if patience is None or patience >= limits.recall_patience:
            return limits
        return replace(limits, recall_patience=patience)

    async def _epoch(self) -> int:
        if self.epoch is not None:
            return self.epoch
        return (await self._chat.store.scope_version(self._scope)).epoch

    def _request(
        self,
        step: PromptTemplate[Any],
        messages: Sequence[Message],
        options: RequestOptions,
        source_sessions: tuple[int, ...],
        epoch: int,
    ) -> ModelRequest:
        if options.temperature is None:
            options = replace(options, temperature=self._chat.temperature)
        schema = step.schema
        content: dict[str, Any] = {
            "messages": [message.as_json() for message in messages],
            "schema": schema,
        }
        if (unbounded := replace(options, bounds=None)) != DEFAULT_REQUEST:
            content["options"] = asdict(unbounded)
        prompt = _json(content)
        model = self._chat.model
        hashed = _json([step.name, step.version, model.name, dict(model.settings), prompt])
        key = hashlib.sha256(hashed.encode()).hexdigest()
        options = replace(options, bounds=options.bounds or step.bounds)
        most = max(self._max_reply_tokens(options) * CHARACTERS_PER_TOKEN, _MIN_CHARACTERS)
        return ModelRequest(
            key, step, messages, schema, prompt, options, most, source_sessions, epoch
        )

    async def _find_entry(self, request: ModelRequest) -> JournalEntry | None:
        """Return the usable entry of an earlier call, unless this chat asks again.

        Entries of versions that did not cut replies off may be too long, and are retired.
        """
        key, chat = request.key, self._chat
        entry = await self._find_newest(key)
        if entry is None or len(entry.reply) <= request.max_journalled:
            return entry
        await chat.store.retire_journal_entry(self._scope, key)
        return None

    async def _find_newest(self, key: str) -> JournalEntry | None:
        chat, fresh = self._chat, self._chat.fresh_keys
        if fresh is not None and (self._scope, key) not in fresh:
            fresh.add((self._scope, key))
            await chat.store.retire_journal_entry(self._scope, key)
            return None
        return await chat.store.find_journal_entry(self._scope, key)

    async def _send(self, request: ModelRequest, limits: Limits | None = None) -> JournalEntry:
        """Call the model within budgets and retries."""
        chat = self._chat
        limits = limits or chat.limits
        async with self._reserved(request, limits) as granted:
            entry = await call_with_retries(
                partial(self._call, granted),
                self._label(request),
                limits=limits,
                limiter=chat.limiter,
                rng=chat.rng,
                on_failure=partial(self._record_failure, request),
            )
        if granted.grant.shortened and entry.error == CUT_OFF:
            error = f"its reply was cut off after {granted.grant.max_tokens} tokens by a budget"
            await finish(chat.store.reject_journal_entries(self._scope, [request.key], error))
            raise BudgetExceeded(
                f"{self._label(request)}: {error}. Raise the budgets of Limits and run again to "
                "resume"
            )
        return entry

    def _label(self, request: ModelRequest) -> str:
        return f"{self.model} (step {request.step.label})"

    @asynccontextmanager
    async def _reserved(
        self, request: ModelRequest, limits: Limits
    ) -> AsyncGenerator[ModelRequest]:
        """Reserve what the request may use of the budgets, and return it with bounds to match."""
        budgets, model = self._chat.cost_limits, self._chat.model
        if not budgets.needs_tokens:
            yield request
            return
        reply_tokens = self._max_reply_tokens(request.options)
        if isinstance(model, BoundedModel):
            reply_tokens = model.max_output(request.options) or reply_tokens
        call = PlannedCall(
            scope=self._scope,
            session=self._session,
            label=self._label(request),
            prompt_tokens=count_input(request),
            reply_tokens=reply_tokens,
            price=model.price if isinstance(model, PricedModel) else _unknown_price,
        )
        async with budgets.reserve(call, limits.patience) as grant:
            options = request.options
            if grant.max_tokens is not None:
                options = replace(options, max_tokens=grant.max_tokens)
            yield replace(request, options=options, grant=grant)

    def _max_reply_tokens(self, options: RequestOptions) -> int:
        bounds = options.bounds or ReplyBounds()
        return options.max_tokens or self._chat.model.settings.get("max_tokens") or bounds.tokens

    async def _call(self, request: ModelRequest) -> JournalEntry:
        started = anyio.current_time()
        model = self._chat.model
        with self._span(request) as span:
            reply = await model.complete(request.messages, request.schema, request.options)
            span.attributes |= {
                INPUT_TOKENS: reply.input_tokens,
                OUTPUT_TOKENS: reply.output_tokens,
            }
        return await self._record_reply(request, reply, anyio.current_time() - started)

    def _span(self, request: ModelRequest, *, streamed: bool = False) -> Span:
        span = model_call("chat", self.model, streamed=streamed)
        span.attributes["theanine.step"] = request.step.label
        return span

    async def _record_reply(
        self, request: ModelRequest, reply: RawReply, seconds: float
    ) -> JournalEntry:
        usage = Usage(
            calls=1,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            cost=reply.cost,
            seconds=seconds,
        )
        # The finish reason is stored as an error because a replay sees the text alone.
        error = FINISH_ERRORS.get(reply.finish, "")
        most = request.max_characters
        if len(reply.text) > most:
            reply, error = replace(reply, text=reply.text[:most]), error or CUT_OFF
        text = _journalled_text(reply, request.options)
        if len(text) > request.max_journalled:
            text, error = text[:most], TOO_LONG
        return await self._record(request, usage, reply=text, error=error, last=True)

    async def _record_failure(
        self, request: ModelRequest, error: ModelError, seconds: float
    ) -> None:
        usage = Usage(calls=1, failed=1, seconds=seconds)
        await self._record(request, usage, error=str(error))

    async def _record(
        self,
        request: ModelRequest,
        usage: Usage,
        *,
        reply: str = "",
        error: str,
        last: bool = False,
    ) -> JournalEntry:
        """Add a call to the journal; the ``last`` one of a request ends its reservation."""
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
        reservation = request.grant.reservation if last else 0
        redact = self._chat.redact
        stored = replace(
            entry, prompt=redact(entry.prompt), reply=redact(reply), error=redact(error)
        )
        # A paid reply is stored even if this run is cancelled.
        await finish(self._chat.store.add_journal_entry(self._scope, stored, reservation))
        if last:
            request.grant.reservation = 0
        _log.info(
            "%s: step %s input_tokens=%d output_tokens=%d seconds=%.2f%s",
            entry.model,
            request.step.label,
            usage.input_tokens,
            usage.output_tokens,
            usage.seconds,
            " failed" if entry.rejected else "",
        )
        return entry


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def count_input(request: ModelRequest) -> int:
    """Estimate the tokens of a prompt, with its schema and the tools that it offers."""
    texts = [message.text for message in request.messages]
    calls = [call for message in request.messages for call in message.tool_calls]
    texts += [_json(dict(call.arguments)) for call in calls]
    texts += [_json(asdict(tool)) for tool in request.options.tools]
    if request.schema is not None:
        texts.append(schema_prompt(request.schema))
    return sum(map(count_tokens, texts))


def _unknown_price(input_tokens: int, output_tokens: int) -> None:
    """Stand in for the price of a model that has none before a call."""


def _journalled_text(reply: RawReply, options: RequestOptions) -> str:
    """Return the reply as journalled: its text or, where it may call tools, text and calls."""
    text = sanitize(reply.text)
    if not options.tools:
        return text
    return sanitize(_json({"text": text, "tool_calls": [*map(asdict, reply.tool_calls)]}))
