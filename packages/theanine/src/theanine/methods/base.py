"""The interface of a memory method: ``remember`` a session, ``recall`` for a dialogue, respond."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Protocol

from theanine.llm.base import DEFAULT_REQUEST, RawReply, ReplyPrompt, RequestOptions, ToolCall
from theanine.llm.chat import ScopedChat
from theanine.recall.context import RecallContext
from theanine.types import (
    LOCAL_MODEL,
    SPOKEN,
    ImportedMemory,
    MemoryBatch,
    Recollection,
    Role,
    Scope,
    Session,
    Turn,
    Usage,
    Utterance,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyOptions:
    """How a model is asked for one reply.

    Attributes:
        prompt: the form of the prompt; None is the method's own.
        stream: let the reply have ``pieces`` instead of its text.
        system: the application's instructions, at the beginning of a chat's system message.
        persona: who the assistant is and how it speaks, after them.
        request: settings of the request, and tools.
    """

    prompt: ReplyPrompt | None = None
    stream: bool = False
    system: str = ""
    persona: str = ""
    request: RequestOptions = DEFAULT_REQUEST

    @property
    def for_chat(self) -> list[str]:
        """The options that are set and that only a chat prompt can follow."""
        request = self.request
        given = {
            "system": self.system,
            "persona": self.persona,
            "temperature": request.temperature is not None,
            "max_tokens": request.max_tokens is not None,
            "stop": request.stop,
            "tools": request.tools,
        }
        return [name for name, value in given.items() if value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(RecallContext):
    """Everything that a method may use, for one scope.

    Attributes:
        scope: the user, agent and tenant that the memory belongs to.
        chat: the language model, or None; without one, every step has a local version.
        rng: the only source of randomness.
        replying: how the model is asked for this reply.
    """

    scope: Scope
    chat: ScopedChat | None
    rng: Random
    replying: ReplyOptions = ReplyOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The assistant's next turn.

    Attributes:
        text: the reply.
        rationale: which memories apply and how, if the method made the model reason first.
        recollection: what the reply is based on.
        made_by: the model, or ``local``.
        notes: data for remembering the session later, such as ``{"worth": "yes"}``; stored with the
            assistant's turn. They must not quote the dialogue.
        tool_calls: what the model asks the application to call.
        finish: why the text ends: ``stop``, ``length`` (at the limit of tokens), ``tool_call``, or
            ``broken_off`` (a stream that was not read to its end).
        pieces: of a streamed reply that has begun, the text as it arrives and, last, the whole; the
            text is empty until then.
    """

    text: str
    recollection: Recollection
    rationale: str = ""
    made_by: str = LOCAL_MODEL
    notes: Mapping[str, str] = field(default_factory=dict[str, str])
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str = "stop"
    pieces: AsyncGenerator[str | RawReply] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.text

    def completed(self, raw: RawReply) -> Reply:
        """Return the reply with what the model sent."""
        return replace(
            self,
            text=raw.text.strip(),
            tool_calls=raw.tool_calls,
            finish=raw.finish,
            pieces=None,
        )


Estimate = Usage
"""Expected usage, as a method predicts it: calls and tokens; cost and time depend on the model."""


def remembered_turns(method: Method, turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns that a method remembers, by their roles."""
    roles: Collection[Role] = getattr(method, "remembered_roles", SPOKEN)
    return [turn for turn in turns if turn.role in roles]


def stored_id(method: Method) -> str:
    """Return the id under which a method's memories are stored.

    It is its own, or that of the method whose memories it shares.
    """
    return getattr(method, "memories_of", method.name)


def recalls_from_log(method: Method) -> bool:
    """Return whether a method searches the log itself, remembered or not."""
    return getattr(method, "recalls_from_log", False)


def recall_asks_model(method: Method) -> bool:
    """Return whether a recall of the method may ask a model, if there is one."""
    return getattr(method, "recall_asks_model", not recalls_from_log(method))


class Method(Protocol):
    """A memory method. It uses no clock, and no randomness but ``context.rng``.

    It is given what the user and the assistant said. One that remembers other turns, such as what
    tools returned, has an attribute ``remembered_roles``, a set of roles.

    One whose parts have a calibrated ``relevance``, and which honors ``min_relevance``, has an
    attribute ``estimates_relevance`` that is true; ``min_relevance`` is refused for all others. The
    client applies the bounds of time and metadata, through ``context.index``, and ``limit``.

    One whose cost grows with what is remembered has a method ``estimate_earlier(turns)``: what a
    number of earlier turns adds to the estimate of a session.

    One that works on the memories of another method has an attribute ``memories_of``, that method's
    id; see :func:`stored_id`.
    """

    @property
    def name(self) -> str:
        """The method's id, such as ``theanine``."""
        ...

    async def remember(
        self,
        session: Session,
        turns: Sequence[Turn],
        imported: Sequence[ImportedMemory],
        context: Context,
        /,
    ) -> MemoryBatch:
        """Make memories and links of a session that ended; the caller commits them.

        ``imported`` are memories that came with an imported session; if there are any, they replace
        those that the method would make of the turns.
        """
        ...

    def estimate(self, turns: Sequence[Turn]) -> Estimate:
        """Estimate the model usage of remembering a session with these turns."""
        ...

    async def recall(self, dialogue: Sequence[Utterance], context: Context) -> Recollection:
        """Return what is relevant for the dialogue; empty if nothing is."""
        ...

    async def respond(
        self,
        dialogue: Sequence[Utterance],
        recollection: Recollection,
        speaker: str,
        context: Context,
    ) -> Reply:
        """Return the next turn of ``speaker``, the assistant."""
        ...
