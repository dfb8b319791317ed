"""TeaFarm in one call, for programs and tests: of our methods, of any function, of an address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

from anyio.from_thread import start_blocking_portal

from theanine.client.sync import Client
from theanine.types import LOCAL_MODEL
from theanine_bench.config import RunConfig
from theanine_bench.runs.folder import RunFolder
from theanine_bench.runs.runner import RunLimits, run_task
from theanine_bench.targets.callable import AgentFunction, CallableTarget
from theanine_bench.targets.external import EXTERNAL, HistoryMode
from theanine_bench.teafarm.report import Report
from theanine_bench.teafarm.run import farm_of


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
    history: HistoryMode = "sent"
    agent_model: str = "agent"
    limit: int | None = None
    concurrency: int = 8


def ask_agent(
    file: Path,
    folder: Path,
    agent: AgentFunction | Client | str | None = None,
    *,
    data: Path | None = None,
    store: str | None = None,
    way: Way | None = None,
) -> Report:
    """Ask the questions of a file, and report; the run is kept in ``folder``, a new one.

    Args:
        file: the questions; see :mod:`theanine_bench.teafarm.questions`.
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
    agent: AgentFunction | Client | str | None,
    data: Path | None,
    store: str | None,
    way: Way,
) -> Report:
    known: HistoryMode | None = None
    if agent is not None:
        known = way.history if isinstance(agent, str) else "none"
    task = await farm_of(
        file, judge=way.judge, data=data, store=store, limit=way.limit, known=known
    )
    if agent is not None and not isinstance(agent, str):
        task = replace(task, target=partial(CallableTarget, agent=agent))
    place, summary = await run_task(
        task,
        _setup(agent, way),
        RunFolder(folder),
        limits=RunLimits(concurrency=way.concurrency),
    )
    items = list(place.results().values())
    method = way.method if agent is None else EXTERNAL
    return Report(items=items, total=summary["samples"], folder=str(place.path), method=method)


def _setup(agent: AgentFunction | Client | str | None, way: Way) -> RunConfig:
    judged = RunConfig(judge=way.judge, judge_base_url=way.judge_base_url)
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
        return replace(judged, method=EXTERNAL, settings=settings, model=name, base_url=agent)
    name = agent.location if isinstance(agent, Client) else getattr(agent, "__qualname__", "")
    return replace(judged, method=EXTERNAL, settings={"agent": str(name)})


def _only(group: BaseException) -> BaseException:
    """What went wrong, out of the groups of tasks around it."""
    while isinstance(group, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", group).exceptions[0]
    return group
