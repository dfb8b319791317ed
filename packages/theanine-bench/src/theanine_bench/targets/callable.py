"""An agent in this process as a target: any function, or an open client."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, cast

import anyio

from theanine.client.sync import Client
from theanine.errors import SettingsError
from theanine.methods.base import Reply
from theanine.types import Recollection, Utterance
from theanine_bench.samples import Sample
from theanine_bench.targets.external import EXTERNAL
from theanine_bench.targets.target import ClientTarget, Output, TargetContext

AgentFunction = Callable[[Sequence[Utterance]], str | Awaitable[str]]
"""Takes a dialogue, whose last turn is to be answered, and returns the reply."""


class CallableTarget(ClientTarget):
    """A function, or a client with a store of its own. It learns no histories from the run."""

    def __init__(self, context: TargetContext, agent: AgentFunction | Client) -> None:
        super().__init__(context, context.open_log())
        self._agent, self._budget = agent, context.config.budget
        self._lock = anyio.Lock()

    async def answer(self, sample: Sample, user: str) -> Output:
        """Return the agent's reply; a function is called in a thread, one call at a time."""
        if isinstance(self._agent, Client):
            agent = self._agent
            call = partial(
                agent.user(user).inner.reply,
                sample.dialogue,
                speaker=sample.speaker,
                budget=self._budget,
            )
            reply = await anyio.to_thread.run_sync(agent.portal.call, call)
            return Output.from_reply(cast("Reply", reply))
        async with self._lock:  # the function may not be thread-safe
            text: Any = await anyio.to_thread.run_sync(self._agent, sample.dialogue)
        if inspect.isawaitable(text):
            text = await text
        if not isinstance(text, str):
            raise SettingsError(f"the agent must return a str, not {type(text).__name__}")
        recollection = Recollection(query=sample.dialogue[-1].full_text)
        return Output(text=text, recollection=recollection, made_by=EXTERNAL)
