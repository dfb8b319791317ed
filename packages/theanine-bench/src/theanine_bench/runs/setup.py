"""What a run is made of: a plan of cases, the agent's set-up, and the models behind it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import theanine
from theanine.errors import ModelRejected
from theanine.llm.base import ChatModel, Closable, Message, RawReply
from theanine.llm.open import open_chat
from theanine.types import LOCAL_MODEL
from theanine_bench.metrics.base import CorpusMeasure, Measure
from theanine_bench.runs.item import Item
from theanine_bench.samples import Group, count

NOBODY = "nobody"
"""Stands for the method of a run in which no agent is asked: what there is, is only judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is asked, and how the answers are measured.

    Attributes:
        bench: the bench's name, such as ``qa``.
        data: hash of the files that it was read from.
        groups: whose memories are asked what.
        measures: of each item.
        corpus: of all items together.
        ready: what has been answered elsewhere, by case: it is measured and not asked again.
    """

    bench: str
    data: str
    groups: Sequence[Group]
    measures: Sequence[Measure]
    corpus: Sequence[CorpusMeasure] = ()
    ready: Mapping[str, Item] = field(default_factory=dict[str, Item])


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The agent under test and the judge, by name. All of it is kept with the run.

    Attributes:
        settings: of the method, by name.
        budget: tokens that a recollection may have, or None.
        judge: the judging model, or ``local`` for none.
    """

    method: str = "theanine"
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    model: str = LOCAL_MODEL
    base_url: str | None = None
    embedder: str = LOCAL_MODEL
    budget: int | None = None
    judge: str = LOCAL_MODEL
    judge_base_url: str | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The chat models of a run: the agent's and the judge's; None where there is none."""

    agent: ChatModel | None
    judge: ChatModel | None


def open_models(setup: Setup) -> Models:
    """The models that the set-up names. Raises as :func:`theanine.llm.open.open_chat` does."""
    return Models(
        agent=open_chat(setup.model, base_url=setup.base_url),
        judge=open_chat(setup.judge, base_url=setup.judge_base_url),
    )


def settings_of(plan: Plan, setup: Setup, models: Models) -> dict[str, Any]:
    """All that decides on a run's outcome: the data, the code's version, the set-up, the seed."""
    return {
        "bench": plan.bench,
        "theanine": theanine.__version__,
        "data": plan.data,
        "cases": count(plan.groups),
        "asked": _asked(plan),
        "measures": [measure.name for measure in (*plan.measures, *plan.corpus)],
        "setup": asdict(setup),
        "models": {"agent": _model(models.agent), "judge": _model(models.judge)},
    }


def _asked(plan: Plan) -> str:
    """Tells runs apart that ask as many cases of the same data, but not the same ones."""
    stages = (stage for group in plan.groups for stage in group.stages)
    names = "\n".join(case.id for stage in stages for case in stage.cases)
    return hashlib.sha256(names.encode()).hexdigest()[:12]


def recorded_models(settings: Mapping[str, Any]) -> Models:
    """The models of a run as its journal has them: they answer nothing that is not in it."""
    kept = settings["models"]
    return Models(agent=_recorded(kept["agent"]), judge=_recorded(kept["judge"]))


def hash_of(path: Path) -> str:
    """SHA-256 of a file, or of all files of a folder with their names, in order."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            digest.update(f"{file.relative_to(path)}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


class PassingModel:
    """Stands before a chat model and passes all on to it; who differs overrides what differs."""

    def __init__(self, inner: ChatModel) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """The model's own name."""
        return self._inner.name

    @property
    def settings(self) -> Mapping[str, Any]:
        """The model's own settings."""
        return self._inner.settings

    async def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None
    ) -> RawReply:
        """As the model does."""
        return await self._inner.complete(messages, schema)

    async def close(self) -> None:
        """Let go of the model's connections, if it has any."""
        if isinstance(self._inner, Closable):
            await self._inner.close()


class RecordedModel:
    """Stands for a model whose replies are all in the journal, and refuses everything else."""

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self._name, self._settings = name, dict(settings)

    @property
    def name(self) -> str:
        """The model's own name: the journal knows its replies by it."""
        return self._name

    @property
    def settings(self) -> Mapping[str, Any]:
        """The model's own settings."""
        return self._settings

    async def complete(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None
    ) -> RawReply:
        """Raises ModelRejected: only what is journalled can be replayed."""
        raise ModelRejected(
            f"{self._name} was never asked this in the run that is replayed: "
            f"{messages[0].text[:80]!r}"
        )


def _model(model: ChatModel | None) -> dict[str, Any] | None:
    return None if model is None else {"name": model.name, "settings": dict(model.settings)}


def _recorded(kept: Mapping[str, Any] | None) -> ChatModel | None:
    return None if kept is None else RecordedModel(kept["name"], kept["settings"])
