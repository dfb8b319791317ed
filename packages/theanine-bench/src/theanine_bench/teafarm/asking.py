"""TeaFarm in one call, for programs and tests: of our methods, of any function, of an address."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio
from anyio.from_thread import start_blocking_portal

from theanine.client.sync import Client
from theanine.errors import SettingsError
from theanine.methods.base import Reply
from theanine.store import Store
from theanine.types import LOCAL_MODEL, Recollection, Scope, Utterance
from theanine_bench.runs.folder import RunFolder
from theanine_bench.runs.perform import Bounds, perform
from theanine_bench.runs.runner import Running
from theanine_bench.runs.setup import Setup
from theanine_bench.samples import Case
from theanine_bench.targets.external import OUTSIDE, Known
from theanine_bench.targets.target import Tested, log_alone
from theanine_bench.teafarm.report import Report
from theanine_bench.teafarm.run import Farm, farm_of

Function = Callable[[Sequence[Utterance]], str | Awaitable[str]]
"""Any agent: it is given the new session, whose last turn is the question, and says its reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How an agent is asked and judged.

    Attributes:
        method, settings, model, base_url, embedder: of an agent of ours.
        judge, judge_base_url: the judging model; ``local`` for the questions' own phrases.
        history, agent_model: of an agent behind an address; see
            :data:`theanine_bench.targets.external.Known`.
        limit: at most so many questions.
        concurrency: questions at once.
    """

    method: str = "theanine"
    settings: Mapping[str, object] | None = None
    model: str = LOCAL_MODEL
    base_url: str | None = None
    embedder: str = LOCAL_MODEL
    judge: str = LOCAL_MODEL
    judge_base_url: str | None = None
    history: Known = "sent"
    agent_model: str = "agent"
    limit: int | None = None
    concurrency: int = 8


def ask_agent(
    file: Path,
    folder: Path,
    agent: Function | Client | str | None = None,
    *,
    data: Path | None = None,
    store: str | None = None,
    way: Way | None = None,
) -> Report:
    """Ask the questions of a file, and report; the run is kept in ``folder``, a new one.

    Args:
        file: the questions; see :mod:`theanine_bench.teafarm.sheet`.
        folder: where the run is kept.
        agent: a function, an open agent of ours with its own store, an OpenAI-compatible address,
            or None for an agent of ours that is given the sessions which the file names.
        data, store: where these are, instead.
        way: how it is asked and judged.

    Raises BadInput and SettingsError for what can't be asked. What a function raises comes through,
    unless it is a ModelError: that counts as no answer.
    """
    asked = partial(_ask, file, folder, agent, data, store, way or Way())
    try:
        with start_blocking_portal() as portal:  # also where a test has a loop of its own
            return portal.call(asked)
    except ExceptionGroup as group:
        raise _only(group) from None


async def _ask(
    file: Path,
    folder: Path,
    agent: Function | Client | str | None,
    data: Path | None,
    store: str | None,
    way: Way,
) -> Report:
    known: Known | None = None
    if agent is not None:
        known = way.history if isinstance(agent, str) else "none"
    farm = await farm_of(
        file, judge=way.judge, data=data, store=store, limit=way.limit, known=known
    )
    if agent is not None and not isinstance(agent, str):
        farm = Farm(plan=farm.plan, tested=partial(InProcess, agent))
    place, summary = await perform(
        farm.plan,
        _setup(agent, way),
        RunFolder(folder),
        bounds=Bounds(concurrency=way.concurrency),
        tested=farm.tested,
    )
    items = list(place.items().values())
    method = way.method if agent is None else OUTSIDE
    return Report(items=items, total=summary["cases"], folder=str(place.path), method=method)


def _setup(agent: Function | Client | str | None, way: Way) -> Setup:
    judged = Setup(judge=way.judge, judge_base_url=way.judge_base_url)
    if agent is None:
        return replace(
            judged,
            method=way.method,
            settings=way.settings or {},
            model=way.model,
            base_url=way.base_url,
            embedder=way.embedder,
        )
    if isinstance(agent, str):
        name = way.agent_model if ":" in way.agent_model else f"openai:{way.agent_model}"
        settings = {"history": way.history}
        return replace(judged, method=OUTSIDE, settings=settings, model=name, base_url=agent)
    name = agent.location if isinstance(agent, Client) else getattr(agent, "__qualname__", "")
    return replace(judged, method=OUTSIDE, settings={"agent": str(name)})


class InProcess(Tested):
    """An agent in this process, in the place of ours: a function, or one of ours with its store.

    It has its own past: it is told of no sessions.
    """

    def __init__(self, asked: Function | Client, running: Running, store: Store) -> None:
        super().__init__(log_alone(store))
        self._asked = asked
        self._turn = anyio.Lock()

    async def reply(self, case: Case, user: str, budget: int | None) -> Reply:
        """What it says; a function is called once at a time, and what it gives awaited aside."""
        if isinstance(self._asked, Client):
            agent = self._asked
            say = partial(
                agent.inner.reply, case.dialogue, Scope(user), case.speaker, budget=budget
            )
            return cast("Reply", await anyio.to_thread.run_sync(agent.portal.call, say))
        async with self._turn:  # nobody promised that it may be called by two threads at once
            said: Any = await anyio.to_thread.run_sync(self._asked, case.dialogue)
        if inspect.isawaitable(said):
            said = await said
        if not isinstance(said, str):
            raise SettingsError(
                f"the agent must give its reply as a str, not {type(said).__name__}"
            )
        empty = Recollection(query=case.dialogue[-1].full_text)
        return Reply(text=said, recollection=empty, made_by=OUTSIDE)


def _only(group: BaseException) -> BaseException:
    """What went wrong, out of the groups of tasks around it."""
    while isinstance(group, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", group).exceptions[0]
    return group
