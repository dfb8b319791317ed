"""TeaFarm in one call, for programs and tests: run a question file against any agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from anyio.from_thread import start_blocking_portal

from theanine.client.sync import Client
from theanine.types import LOCAL_MODEL
from theanine_bench.config import RunConfig
from theanine_bench.runs.folder import RunFolder
from theanine_bench.runs.runner import RunLimits, run_task
from theanine_bench.targets.callable import AgentFunction, CallableTarget
from theanine_bench.targets.external import EXTERNAL, HistoryMode
from theanine_bench.teafarm.report import Report
from theanine_bench.teafarm.task import load_task

Agent = AgentFunction | Client | str | None
"""A function, an open client with its own store, the URL of an OpenAI-compatible agent, or None for
the memory method that the configuration names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeaFarmConfig:
    """How an agent is run and judged.

    Attributes:
        method, settings, embedder: of a memory method.
        model, base_url, model_settings: its language model.
        memory_model, memory_base_url, memory_settings: the one with which it remembers; None is
            ``model``.
        judge, judge_base_url, judge_settings: the judging model; ``local`` for the questions' own
            phrases.
        history, agent_model: of an agent at a URL.
        limit: maximum number of questions, or None.
        concurrency: questions at once.
        timeout: seconds to wait for one reply of a model, or None for the default.
    """

    method: str = "theanine"
    settings: Mapping[str, object] | None = None
    model: str = LOCAL_MODEL
    base_url: str | None = None
    model_settings: Mapping[str, object] | None = None
    memory_model: str | None = None
    memory_base_url: str | None = None
    memory_settings: Mapping[str, object] | None = None
    embedder: str = LOCAL_MODEL
    judge: str = LOCAL_MODEL
    judge_base_url: str | None = None
    judge_settings: Mapping[str, object] | None = None
    history: HistoryMode = "sent"
    agent_model: str = "agent"
    limit: int | None = None
    concurrency: int = 8
    timeout: float | None = None

    def run_config(self, agent: Agent) -> RunConfig:
        """Return the run's configuration for an agent."""
        config = RunConfig(
            judge=self.judge,
            judge_base_url=self.judge_base_url,
            judge_settings=self.judge_settings,
        )
        if agent is None:
            return replace(
                config,
                method=self.method,
                settings=self.settings or {},
                model=self.model,
                base_url=self.base_url,
                model_settings=self.model_settings,
                memory_model=self.memory_model,
                memory_base_url=self.memory_base_url,
                memory_settings=self.memory_settings,
                embedder=self.embedder,
            )
        if isinstance(agent, str):
            model = self.agent_model if ":" in self.agent_model else f"openai:{self.agent_model}"
            settings = {"history": self.history}
            return replace(config, method=EXTERNAL, settings=settings, model=model, base_url=agent)
        name = agent.location if isinstance(agent, Client) else getattr(agent, "__qualname__", "")
        return replace(config, method=EXTERNAL, settings={"agent": str(name)})


def run_teafarm(
    file: Path,
    folder: Path,
    agent: Agent = None,
    *,
    data: Path | None = None,
    store: str | None = None,
    config: TeaFarmConfig | None = None,
) -> Report:
    """Run the questions of a file and return the report; the run is kept in ``folder``.

    Args:
        data, store: the location of the earlier sessions, instead of the file's own.

    Raises BadInput and SettingsError for questions that can't be run. What a function raises is
    passed on, except ModelError, which counts as no answer.
    """
    run = partial(_run, file, folder, agent, data, store, config or TeaFarmConfig())
    with start_blocking_portal() as portal:  # the caller may have an event loop of its own
        return portal.call(run)


async def _run(
    file: Path,
    folder: Path,
    agent: Agent,
    data: Path | None,
    store: str | None,
    config: TeaFarmConfig,
) -> Report:
    history_mode: HistoryMode | None = None
    if agent is not None:
        history_mode = config.history if isinstance(agent, str) else "none"
    task = await load_task(
        file,
        judge=config.judge,
        data=data,
        store=store,
        limit=config.limit,
        history_mode=history_mode,
    )
    if agent is not None and not isinstance(agent, str):
        task = replace(task, target=partial(CallableTarget, agent=agent))
    run_config = config.run_config(agent)
    limits = RunLimits(concurrency=config.concurrency, timeout=config.timeout)
    run, summary = await run_task(task, run_config, RunFolder(folder), limits=limits)
    return Report(
        results=list(run.results().values()),
        total=summary["samples"],
        folder=str(run.path),
        method=run_config.method,
    )
