"""The only place that calls a language model.

Every reply is journalled before it is used, under a hash of everything that led to it. A run after
a crash therefore replays the replies already paid for, and the journal is the record of all costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from random import Random
from typing import Any, TypeVar

import anyio

from theanine.cancellation import finish
from theanine.clock import Clock
from theanine.errors import UnusableReply
from theanine.llm.base import (
    ChatModel,
    Closable,
    Message,
    RequestOptions,
)
from theanine.llm.bounds import ReplyBounds
from theanine.llm.budgets import CostLimits
from theanine.llm.conversation import Conversation
from theanine.llm.limits import Limits
from theanine.llm.parsing import CUT_OFF, InvalidReply
from theanine.llm.prompt import PromptTemplate
from theanine.llm.prompt_folder import NO_PROMPTS, PromptFolder
from theanine.store.base import Store
from theanine.tokenizer import sanitize
from theanine.types import Scope, Usage

T = TypeVar("T")
_QUOTED_CHARACTERS = 4_000
"""Characters of an unusable reply that are quoted in the repair request."""
_QUOTED_OF_CUT_OFF = 300
"""The same of a reply that ran on until its bound."""


class Chat:
    """A chat model with its journal, retries, repairs, budgets and concurrency limit.

    Attributes:
        temperature: temperature of requests that name none; None leaves it to the model.
        prompts: prompts in place of the steps' own.
        asker: the memory method that asks, for which ``prompts`` may have its own.
        redact: replaces what may not be stored in what is journalled, which may be JSON.
        fresh_keys: of a chat that asks again, the calls that it has asked so far; None for one that
            replays the journal.
    """

    def __init__(
        self,
        model: ChatModel,
        store: Store,
        clock: Clock,
        limits: Limits | None = None,
        rng: Random | None = None,
        redact: Callable[[str], str] | None = None,
        prompts: PromptFolder | None = None,
    ) -> None:
        self.temperature: float | None = None
        self.prompts = prompts or NO_PROMPTS
        self.asker = ""
        self.model = model
        self.store = store
        self.clock = clock
        self.limits = limits or Limits()
        self.rng = rng or Random()
        self.redact = redact or str
        self.cost_limits = CostLimits(self.limits, store)
        self.limiter = anyio.CapacityLimiter(self.limits.concurrency)
        self.fresh_keys: set[tuple[Scope, str]] | None = None

    def for_scope(self, scope: Scope, session: int | None = None) -> ScopedChat:
        """Return the chat of one scope.

        ``session`` is the session being remembered; None for calls before a reply.
        """
        return ScopedChat(self, scope, session)

    def asking_again(self) -> Chat:
        """Return a chat that replays no reply from before, and shares all else with this one."""
        other = copy(self)
        other.fresh_keys = set()
        return other

    async def close(self) -> None:
        """Close the model's connections, if it has any; no call follows."""
        if isinstance(self.model, Closable):
            await self.model.close()


class ScopedChat(Conversation):
    """Calls the model on behalf of one scope."""

    @property
    def limits(self) -> Limits:
        """Limits on retries and time of calls that name none."""
        return self._chat.limits

    def replaced(self, step: PromptTemplate[T], asker: str = "") -> PromptTemplate[T]:
        """Return the step with the prompt by which it is asked, one of ``Chat.prompts`` or its own.

        ``asker`` is as in :meth:`ask`.
        """
        return self._chat.prompts.replace(step, asker or self._chat.asker)

    async def is_journalled(self, step: PromptTemplate[Any], /, **values: str) -> bool:
        """Whether the journal has a reply to a step's prompt, which :meth:`ask` would replay."""
        if self._chat.fresh_keys is not None:
            return False
        messages = [Message("user", sanitize(self.replaced(step).render(**values)))]
        request = self._request(step, messages, RequestOptions(), (), 0)
        return await self._find_entry(request) is not None

    async def ask(
        self,
        step: PromptTemplate[T],
        asker: str = "",
        /,
        *,
        source_sessions: Iterable[int] = (),
        check: Callable[[T], str | None] | None = None,
        bounds: ReplyBounds | None = None,
        repairs: int | None = None,
        limits: Limits | None = None,
        **values: str,
    ) -> T:
        """Render the step's prompt, call the model, and return the reply as the step's type.

        An unusable reply is returned to the model with its error, up to ``Limits.repairs`` times.
        So is one that was cut off at its bound, which is named. Only a text of which nothing is
        stored, such as an account in a recall, is used up to its last sentence, and counted in
        ``Usage.truncated``. If a token budget is set, prompt tokens are estimated with the
        bundled tokenizer.

        Args:
            step: its prompt may be replaced by one of ``Chat.prompts``.
            asker: the metric that asks, for a prompt of its own; else it is ``Chat.asker``.
            source_sessions: numbers of the sessions whose text is in ``values``; erasing one of
                them erases the text of this call from the journal.
            check: returns an error message for a result that fits its type but is wrong, or None.
            bounds: bounds of this reply; None for the step's own.
            repairs: how often an unusable reply is returned; None for ``Limits.repairs``.
            limits: limits on retries and time; None for those of the chat.
            values: the prompt's variables.

        Raises:
            UnusableReply: no reply was usable; the next run calls the model again.
            ModelUnavailable, ModelRejected: no reply; the failed calls are in the journal.
            BudgetExceeded: the call would exceed a budget.
        """
        step = self.replaced(step, asker)
        messages = [Message("user", sanitize(step.render(**values)))]
        sessions = (
            {*source_sessions} if self._session is None else {*source_sessions, self._session}
        )
        epoch = await self._epoch()
        options = RequestOptions(bounds=bounds)
        keys: list[str] = []
        calls = 0
        is_text = issubclass(step.result, str)
        reply, error = "", ""
        for _ in range(1 + (self._chat.limits.repairs if repairs is None else repairs)):
            request = self._request(step, messages, options, tuple(sorted(sessions)), epoch)
            keys.append(request.key)
            entry = await self._find_entry(request)
            if entry is None:
                entry = await self._send(request, limits)
                calls += 1
            else:
                self.usage += Usage(replayed=1)
            reply = entry.reply
            cut_off = entry.error == CUT_OFF
            try:
                if entry.error and not cut_off:
                    raise InvalidReply(entry.error)
                if cut_off and is_text and self._session is not None:
                    raise InvalidReply(CUT_OFF)
                result = step.parse(reply, values, cut_off=cut_off)
                if check is not None and (fault := check(result)):
                    raise InvalidReply(fault)
            except InvalidReply as invalid:
                error = CUT_OFF if cut_off else str(invalid)
            else:
                self.usage += Usage(truncated=int(cut_off and is_text))
                return result
            bound = self._max_reply_tokens(request.options)
            messages = [*messages, *_repair_messages(reply, error, bound if cut_off else None)]
        self.usage += Usage(failed=calls)
        await finish(self._chat.store.reject_journal_entries(self._scope, keys, error))
        replies = "the reply" if len(keys) == 1 else f"{len(keys)} replies"
        raise UnusableReply(
            f"step {step.label}: {replies} of {self.model} could not be used; last error: {error}. "
            "The raw replies are in the journal; the next run calls the model again",
            reply,
        )


def _repair_messages(reply: str, error: str, bound: int | None) -> tuple[Message, Message]:
    """Return the model's reply and a request to repair it; their texts are in the journal key.

    ``bound`` is the most tokens of a reply that was cut off; None for one that was not.
    """
    most = _QUOTED_CHARACTERS if bound is None else _QUOTED_OF_CUT_OFF
    quoted = reply if len(reply) <= most else f"{reply[:most]} […]"
    shorter = "" if bound is None else f" Keep it shorter: it may have {bound} tokens at most."
    return (
        Message("assistant", quoted.strip() or "(nothing)"),
        Message(
            "user",
            f"This reply can't be used: {error}. Answer the task above again, whole and in the "
            f"form it asks for, with nothing around it.{shorter}",
        ),
    )
