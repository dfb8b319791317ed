"""Systems under test: the port, and the memory client as a target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import theanine
from theanine.client.client import AsyncClient
from theanine.client.user import AsyncUserMemory
from theanine.clock import system_clock
from theanine.errors import SettingsError
from theanine.llm.base import ChatModel
from theanine.llm.chat import Chat
from theanine.llm.limits import Limits
from theanine.methods.base import Reply
from theanine.methods.registry import open_method
from theanine.methods.shared.config import find_temperature
from theanine.store import Store
from theanine.types import LOCAL_MODEL, History, Recollection, Turn
from theanine_bench.config import RunConfig
from theanine_bench.samples import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a target made of a sample.

    Attributes:
        text: its answer; empty for a target that answers otherwise.
        made_by: the model that answered, or ``local``.
        data: what else it produced, JSON-ready; kept as ``SampleResult.output``.
        seconds: the time that counts; None for the duration of :meth:`Target.answer`.
    """

    text: str = ""
    rationale: str = ""
    made_by: str = LOCAL_MODEL
    recollection: Recollection | None = None
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    seconds: float | None = None

    @classmethod
    def from_reply(cls, reply: Reply) -> Self:
        """Return a client's reply as output."""
        return cls(
            text=reply.text,
            rationale=reply.rationale,
            made_by=reply.made_by,
            recollection=reply.recollection,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetContext:
    """What a run provides to its target.

    Attributes:
        store: the run's store, which holds the journal.
        folder: the run's folder, for files of the target's own.
        model: the target's language model, or None.
        memory_model: the one with which it remembers, if it isn't ``model``.
        meter: wraps a model so that its cost counts towards the run's limit.
    """

    config: RunConfig
    store: Store
    folder: Path
    model: ChatModel | None = None
    memory_model: ChatModel | None = None
    limits: Limits = field(default_factory=Limits)
    meter: Callable[[ChatModel], ChatModel] = lambda model: model

    def open_client(self) -> AsyncClient:
        """Return the memory client that the run's configuration describes.

        Raises SettingsError.
        """
        config = self.config
        method = open_method(config.method, dict(config.settings) or None)
        find_temperature(method, config.model_settings, config.memory_settings)
        return theanine.aopen(
            self.store,
            method=method,
            embedder=config.embedder,
            model=self.metered_model(),
            memory_model=self.metered_memory_model(),
            limits=self.limits,
            prompts=config.prompts,
            seed=config.seed,
        )

    def open_chat(self) -> Chat | None:
        """Return the target's model with the run's journal, limits and cost; None without one."""
        if self.model is None:
            return None
        model, prompts = self.meter(self.model), self.config.prompts
        chat = Chat(model, self.store, system_clock, self.limits, prompts=prompts)
        chat.asker = self.config.method
        return chat

    def metered_model(self) -> ChatModel | str:
        """Return the client's model, whose cost counts towards the run's limit."""
        return self.meter(self.model) if self.model else LOCAL_MODEL

    def metered_memory_model(self) -> ChatModel | str | None:
        """Return the client's model for remembering; None if it is that of its replies."""
        if self.memory_model:
            return self.meter(self.memory_model)
        return LOCAL_MODEL if self.config.memory_model == LOCAL_MODEL else None

    def open_log(self) -> AsyncClient:
        """Return a client that only logs sessions, for a target with a memory of its own."""
        return theanine.aopen(self.store, method="no-memory")


class Target:
    """Base class of systems under test. A run enters it before the first sample.

    Attributes:
        has_facts: whether :meth:`facts` reports anything. A group is then only finished once it
            has, and without ``failures`` among its facts.
    """

    has_facts: ClassVar[bool] = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    async def remember(self, user: str, histories: Sequence[History]) -> str | None:
        """Learn the histories of a group; return the error message if that failed.

        A resumed run calls it again with the same histories, which must change nothing.
        """
        return None

    async def answer(self, sample: Sample, user: str) -> Output:
        """Return the output for a sample of the group ``user``. Raises ModelError."""
        raise NotImplementedError

    async def facts(self, user: str) -> Mapping[str, Any]:
        """Return figures about a group that is finished or stopped, such as bytes; JSON-ready."""
        return {}


TargetFactory = Callable[[TargetContext], Target]


async def turns_by_key(memory: AsyncUserMemory) -> dict[tuple[str, str], Turn]:
    """Return the turns of a log by session key (empty as well) and own key, as labels name them.

    A turn without a key goes by its number in the session, such as ``#3``.
    """
    keys = {session.id: session.key for session in await memory.sessions()}
    numbers = Counter[int]()
    turns: dict[tuple[str, str], Turn] = {}
    for turn in await memory.turns():
        numbers[turn.session] += 1
        for session in ("", keys[turn.session]):
            turns[session, turn.key or f"#{numbers[turn.session]}"] = turn
    return turns


class ClientTarget(Target):
    """A memory client, by default the one that the run's configuration describes."""

    def __init__(self, context: TargetContext, client: AsyncClient | None = None) -> None:
        self.client = client or context.open_client()
        self._budget = context.config.budget

    async def __aenter__(self) -> Self:
        await self.client.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.client.__aexit__(kind, error, trace)

    async def remember(self, user: str, histories: Sequence[History]) -> str | None:
        """Log the histories and remember every pending session."""
        memory = self.client.user(user)
        for history in histories:
            await memory.log(history)
        if not await memory.pending():
            return None
        for report in await memory.remember():
            if report.failure:
                return f"session {report.session}: {report.failure}"
        await memory.warm_up()  # no reply is from what the words alone find
        return None

    async def answer(self, sample: Sample, user: str) -> Output:
        """Return the client's reply in the place of the sample's speaker."""
        reply = await self.client.user(user).reply(
            sample.dialogue, speaker=sample.speaker, budget=self._budget, prompt="transcript"
        )
        return Output.from_reply(reply)


class NullTarget(Target):
    """The target of tasks whose samples are all answered already."""

    def __init__(self, context: TargetContext) -> None: ...

    async def answer(self, sample: Sample, user: str) -> Output:
        """Raises SettingsError."""
        raise SettingsError(f"{sample.id} has no answer, and this bench asks no target for one")
