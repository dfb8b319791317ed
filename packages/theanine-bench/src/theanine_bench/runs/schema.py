"""The forms of a run's files, as far as commands rely on them: damaged files are refused by these.

Fields that earlier releases didn't write have defaults; others are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict


def _time(text: str) -> str:
    datetime.fromisoformat(text)
    return text


Time = Annotated[str, AfterValidator(_time)]


class _Record(BaseModel):
    model_config = ConfigDict(strict=True)


class _SourceTurn(_Record):
    turn: int
    session: int
    speaker: str
    at: Time
    text: str


class _Part(_Record):
    text: str
    memories: list[int]
    sources: list[_SourceTurn]


class _Utterance(_Record):
    speaker: str
    at: Time
    text: str
    role: str = ""


class _Extra(_Record):
    past: list[str] = []
    persona: Mapping[str, list[str]] | None = None
    evidence: list[Any] = []
    gold: list[Any] = []
    rubric: list[str] = []


class Result(_Record):
    """A line of ``items.jsonl``."""

    id: str
    group: str
    category: str = ""
    question: str
    dialogue: Sequence[_Utterance] = ()
    speaker: str = ""
    reference: str = ""
    extra: _Extra = _Extra()
    answer: str | None = None
    rationale: str = ""
    made_by: str = ""
    recalled: Sequence[_Part] = ()
    recalled_tokens: int = 0
    output: Mapping[str, Any] = {}
    scores: Mapping[str, float] = {}
    verdicts: Mapping[str, Mapping[str, Any]] = {}
    failures: Mapping[str, str] = {}


class _Config(_Record):
    method: str
    settings: Mapping[str, Any]
    model: str
    base_url: str | None
    embedder: str
    budget: int | None
    judge: str
    judge_base_url: str | None
    seed: int
    model_settings: Mapping[str, Any] | None = None
    memory_model: str | None = None
    memory_base_url: str | None = None
    memory_settings: Mapping[str, Any] | None = None
    judge_settings: Mapping[str, Any] | None = None


class _Model(_Record):
    name: str
    settings: Mapping[str, Any] = {}


class _Models(_Record):
    agent: _Model | None
    judge: _Model | None
    memory: _Model | None = None


class Settings(_Record):
    """``settings.json``."""

    bench: str
    theanine: str
    data: str
    samples: int
    metrics: list[str]
    config: _Config
    models: _Models
    binary: list[str] = []


class _Mean(_Record):
    mean: float | None
    low: float | None
    high: float | None
    n: int
    failed: int = 0


class _Spent(_Record):
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None


class Summary(_Record):
    """``summary.json``."""

    samples: int
    done: int
    stopped: str
    unanswered: int
    failures: Mapping[str, int]
    dropped: Mapping[str, int]
    metrics: Mapping[str, _Mean]
    categories: Mapping[str, Mapping[str, _Mean]]
    corpus: Mapping[str, Any]
    corpus_intervals: Mapping[str, Mapping[str, float]] = {}
    recalled_tokens: float | None
    seconds: Mapping[str, float]
    spent: Mapping[str, _Spent]
    facts: Mapping[str, Any] = {}
    sets: list[str] = []
    compared: list[Mapping[str, Any]] = []


class SampleTime(_Record):
    """A line of ``times.jsonl``."""

    id: str
    seconds: float


class GroupFacts(_Record):
    """A line of ``facts.jsonl``."""

    group: str
