"""The interface of a memory method: ``remember`` a session, ``recall`` for a dialogue, respond."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf
from random import Random
from typing import Literal, Protocol

from theanine.clock import find_zone
from theanine.embeddings.base import Embedder, Vectors
from theanine.errors import SettingsError
from theanine.filters import NO_FILTER, Filter
from theanine.llm.base import DEFAULT_REQUEST, RawReply, RequestOptions, ToolCall
from theanine.llm.chat import ScopedChat
from theanine.retrieval.bounds import Bounds
from theanine.retrieval.rerank import RerankConfig
from theanine.retrieval.scope_index import ScopeIndex
from theanine.retrieval.trace import NO_TRACE, RecallTrace
from theanine.store.values import NOTHING_HIDDEN, Hidden
from theanine.types import (
    LOCAL_MODEL,
    SPOKEN,
    ImportedMemory,
    Memory,
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
class RecallOptions:
    """What one recall may return.

    Attributes:
        budget: maximum tokens of the recollection (bundled tokenizer); None leaves the limit to the
            method's own settings.
        limit: maximum number of parts.
        min_relevance: least relevance of a part, 0 to 1; None leaves it to the method.
        since, until: only what was said at or after, and at or before.
        as_of: recall what was known then: nothing said later, and no change made later.
        where: only turns and memories whose metadata matches.
        hidden: what is left out because it is about to be erased; the client sets it.
        deadline: seconds after which the best of what is done by then is returned; None for no
            deadline.

    Raises SettingsError for a value outside its range and for a time without a UTC offset.
    """

    budget: int | None = None
    limit: int | None = None
    min_relevance: float | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    where: Filter = NO_FILTER
    hidden: Hidden = NOTHING_HIDDEN
    deadline: float | None = None

    def __post_init__(self) -> None:
        if self.deadline is not None and not 0 < self.deadline < inf:
            raise SettingsError(f"the deadline must be above 0 seconds, not {self.deadline!r}")
        if self.budget is not None and (type(self.budget) is not int or self.budget < 0):
            raise SettingsError(f"the budget must be 0 or more tokens, not {self.budget!r}")
        if self.limit is not None and (type(self.limit) is not int or self.limit < 1):
            raise SettingsError(f"the limit must be at least 1 part, not {self.limit!r}")
        if self.min_relevance is not None and not 0 <= self.min_relevance <= 1:
            raise SettingsError(f"min_relevance must be from 0 to 1, not {self.min_relevance!r}")
        for name in ("since", "until", "as_of"):
            time = getattr(self, name)
            if time is not None and time.utcoffset() is None:
                raise SettingsError(f"{name} needs a UTC offset, such as {time.isoformat()}+00:00")

    @property
    def bounds(self) -> Bounds:
        """The bounds of time and metadata."""
        return Bounds(
            since=self.since,
            until=self.until,
            as_of=self.as_of,
            where=self.where,
            hidden=self.hidden,
        )


ReplyPrompt = Literal["chat", "transcript"]
"""The form of a reply's prompt: a chat whose turns are messages, or the dialogue quoted in one
message, as the papers have it and as a reply in anybody's place needs it."""


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
class Context:
    """Everything that a method may use, for one scope.

    Attributes:
        scope: the user, agent and tenant that the memory belongs to.
        chat: the language model, or None; without one, every step has a local version.
        embedder: embeds texts.
        index: the scope's memories, vectors, links and turns, within the bounds of ``options``.
        rng: the only source of randomness.
        options: what this recall may return.
        replying: how the model is asked for this reply.
        reranking: reorders search results; None keeps their order.
        pinned: memories that are in the recollection anyway.
        query_vectors: vectors of the queries embedded so far, by text.
        current: ids of the dialogue's turns that are in the log, of tools as well: they are in the
            prompt anyway, so what rests on them alone is left out of recollections.
        trace: is told how the recall goes, for an explanation.
    """

    scope: Scope
    chat: ScopedChat | None
    embedder: Embedder
    index: ScopeIndex
    rng: Random
    options: RecallOptions = RecallOptions()
    replying: ReplyOptions = ReplyOptions()
    reranking: RerankConfig | None = None
    pinned: tuple[Memory, ...] = ()
    query_vectors: dict[str, Vectors] = field(default_factory=dict[str, Vectors], compare=False)
    current: frozenset[int] = frozenset()
    trace: RecallTrace = field(default=NO_TRACE, compare=False)

    @property
    def budget(self) -> int | None:
        """The budget of this call in tokens, or None."""
        return self.options.budget

    def token_budget(self, default: int | None) -> int | None:
        """Return the budget of this call, or else ``default``, the method's setting."""
        return default if self.options.budget is None else self.options.budget

    def shows(self, turns: Collection[int] | Collection[Turn]) -> bool:
        """Whether there are such turns and all of them are in the dialogue."""
        ids = [turn.id if isinstance(turn, Turn) else turn for turn in turns]
        return bool(ids) and self.current.issuperset(ids)

    def asked_at(self, dialogue: Sequence[Utterance]) -> datetime:
        """Return the time of the dialogue's last turn, or ``as_of`` if that is earlier.

        It is in the user's time zone, if one is set.
        """
        at, as_of = dialogue[-1].at, self.options.as_of
        at = at if as_of is None else min(at, as_of)
        zone = find_zone(self.index.state.time_zone)
        return at.astimezone(zone) if zone else at


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


class Method(Protocol):
    """A memory method. It uses no clock, and no randomness but ``context.rng``.

    It is given what the user and the assistant said. One that remembers other turns, such as what
    tools returned, has an attribute ``remembered_roles``, a set of roles.

    One whose parts have a calibrated ``relevance``, and which honors ``min_relevance``, has an
    attribute ``estimates_relevance`` that is true; ``min_relevance`` is refused for all others. The
    client applies the bounds of time and metadata, through ``context.index``, and ``limit``.
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
