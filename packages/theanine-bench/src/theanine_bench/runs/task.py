"""What a run executes: a task, and the chat models behind its target and judge."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import theanine
from theanine.llm.base import ChatModel
from theanine.llm.open import open_chat, open_chats
from theanine.types import Scope
from theanine_bench.config import RunConfig
from theanine_bench.metrics.base import CorpusMetric, Metric
from theanine_bench.samples import Group, SampleResult, count_samples
from theanine_bench.targets.models import RecordedModel
from theanine_bench.targets.target import ClientTarget, TargetFactory

JUDGE_SCOPE = Scope("judge", agent="bench", tenant="bench")
"""The scope of judges' calls in the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a bench executes: samples, the target that answers them, and the metrics.

    Attributes:
        bench: the bench's name, such as ``qa``.
        data: hash of the files that the samples were read from.
        target: makes the target; by default the client that the run's configuration describes.
        answered: results made elsewhere, by sample id; they are scored but not run again.
        compared: the configurations of the runs whose answers are compared, for tables.
        uses_store: False for a target that keeps nothing in the run's store; the store is then
            only opened for the journal of a model.
    """

    bench: str
    data: str
    groups: Sequence[Group]
    metrics: Sequence[Metric]
    corpus_metrics: Sequence[CorpusMetric] = ()
    target: TargetFactory = ClientTarget
    answered: Mapping[str, SampleResult] = field(default_factory=dict[str, SampleResult])
    uses_store: bool = True
    compared: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunModels:
    """The chat models of a run; None where there is none.

    Attributes:
        memory: the model that remembers, if it isn't ``agent``.
    """

    agent: ChatModel | None
    judge: ChatModel | None
    memory: ChatModel | None = None


def open_models(config: RunConfig) -> RunModels:
    """Open the models of a configuration. Raises like :func:`theanine.llm.open.open_chat`."""
    agent, memory = open_chats(
        config.model,
        config.memory_model,
        base_url=config.base_url,
        memory_base_url=config.memory_base_url,
        model_settings=config.model_settings,
        memory_settings=config.memory_settings,
    )
    return RunModels(
        agent=agent,
        judge=open_chat(
            config.judge, base_url=config.judge_base_url, settings=config.judge_settings
        ),
        memory=None if memory is agent else memory,
    )


def recorded_models(settings: Mapping[str, Any]) -> RunModels:
    """Return models with the names of a run's own that only its journal can answer for."""
    models = settings["models"]
    return RunModels(
        agent=_recorded(models["agent"]),
        judge=_recorded(models["judge"]),
        memory=_recorded(models.get("memory")),
    )


def run_settings(task: Task, config: RunConfig, models: RunModels) -> dict[str, Any]:
    """Return all that decides a run's outcome: data, version, samples, metrics, configuration.

    ``sample_hash`` tells apart runs of equally many, but other samples of the same data.
    """
    memory = {"memory": _identity(models.memory)} if models.memory else {}
    ids = "\n".join(sample.id for group in task.groups for sample in group.samples)
    return {
        "bench": task.bench,
        "theanine": theanine.__version__,
        "data": task.data,
        "samples": count_samples(task.groups),
        "sample_hash": hashlib.sha256(ids.encode()).hexdigest()[:12],
        "metrics": [metric.name for metric in (*task.metrics, *task.corpus_metrics)],
        "config": config.record(),
        "models": {"agent": _identity(models.agent), "judge": _identity(models.judge), **memory},
    }


def _identity(model: ChatModel | None) -> dict[str, Any] | None:
    return None if model is None else {"name": model.name, "settings": dict(model.settings)}


def _recorded(identity: Mapping[str, Any] | None) -> ChatModel | None:
    return None if identity is None else RecordedModel(identity["name"], identity["settings"])
