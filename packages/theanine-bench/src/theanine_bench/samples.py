"""Data types that every bench shares: samples, their results and scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from theanine.types import LOCAL_MODEL, History, Turn, Utterance

T = TypeVar("T")
ANSWER = "answer"
"""Key of ``SampleResult.failures`` for a failure of the target itself."""

PAST_KEYS = ("past", "persona", "evidence")
"""Keys of ``Sample.extra`` with what judges and raters see as the past."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One input for the target, with its reference.

    Attributes:
        id: unique within a task.
        category: as the data set defines it, or empty.
        dialogue: the conversation so far; its last turn is what must be answered.
        reference: a good answer, or empty.
        speaker: who answers.
        extra: other labels that metrics need, JSON-ready.
    """

    id: str
    category: str = ""
    dialogue: tuple[Utterance, ...]
    reference: str = ""
    speaker: str = "assistant"
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Histories to remember, and the samples that are run right after them."""

    histories: tuple[History, ...] = ()
    samples: tuple[Sample, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Stages that share one memory, in order.

    ``dropped`` counts labels that could not be used, by reason. ``dataset`` is the name of the data
    set, such as ``MSC``, by which tables know it; empty for none.
    """

    id: str
    stages: tuple[Stage, ...]
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])
    dataset: str = ""

    @property
    def samples(self) -> list[Sample]:
        """The samples of all stages, in order."""
        return [sample for stage in self.stages for sample in stage.samples]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleResult:
    """What the target did with a sample, and its scores: one line of ``items.jsonl``.

    A replay of the run must reproduce it to the byte, so it holds no times.

    Attributes:
        group: id of the sample's group.
        question: text of the dialogue's last turn.
        dialogue: turns as ``{speaker, role, text, at}``.
        answer: the target's answer; None if it failed.
        made_by: the model that answered, or ``local``.
        recalled: parts of the recollection as ``{text, memories, sources}``; a source is
            ``{turn, session, speaker, at, text}``.
        recalled_tokens: tokens of the recollection, by the bundled tokenizer.
        output: what else the target produced, JSON-ready.
        scores: numbers by name.
        verdicts: what judges said, by the judge's name.
        failures: error messages by metric name, or under :data:`ANSWER`.
    """

    id: str
    group: str
    category: str = ""
    question: str
    dialogue: Sequence[Mapping[str, Any]] = ()
    speaker: str = "assistant"
    reference: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    answer: str | None = None
    rationale: str = ""
    made_by: str = LOCAL_MODEL
    recalled: Sequence[Mapping[str, Any]] = ()
    recalled_tokens: int = 0
    output: Mapping[str, Any] = field(default_factory=dict[str, Any])
    scores: Mapping[str, float] = field(default_factory=dict[str, float])
    verdicts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    failures: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def complete(self) -> bool:
        """Whether nothing failed."""
        return not self.failures

    def failed(self, name: str) -> bool:
        """Whether the metric that yields the score ``name`` failed."""
        return any(is_score_of(name, metric) for metric in self.failures)

    def record(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A metric's result for one sample: numbers by name, and a judge's verdict."""

    values: Mapping[str, float]
    verdict: Mapping[str, Any] = field(default_factory=dict[str, Any])


def is_score_of(name: str, metric: str) -> bool:
    """Whether a metric yields the score ``name``: its own name, or that and ``/PART``."""
    return name == metric or name.startswith(f"{metric}/")


def score_names(results: Iterable[SampleResult]) -> list[str]:
    """Names of all scores, and of metrics that yielded none because they failed."""
    results = list(results)
    names = dict.fromkeys(name for result in results for name in result.scores)
    for metric in dict.fromkeys(metric for result in results for metric in result.failures):
        if metric != ANSWER and not any(is_score_of(name, metric) for name in names):
            names[metric] = None
    return list(names)


def sort_names(names: Iterable[str], metrics: Sequence[str]) -> list[str]:
    """Sort score names by the order of the metrics that yield them."""
    order = {name: i for i, name in enumerate(metrics)}
    return sorted(names, key=lambda name: order.get(name, order.get(name.split("/")[0], -1)))


def limit_samples(groups: Sequence[Group], limit: int | None) -> list[Group]:
    """Keep ``limit`` samples in all, evenly spaced, and the groups that still have any.

    None keeps all.
    """
    ids = [sample.id for group in groups for sample in group.samples]
    if limit is None or limit >= len(ids):
        return list(groups)
    kept = set(spread(ids, limit))
    limited = (_select(group, kept) for group in groups)
    return [group for group in limited if group.samples]


def spread(items: Sequence[T], limit: int | None) -> list[T]:
    """Return at most ``limit`` items, evenly spaced; all of them for None."""
    if limit is None or limit >= len(items):
        return list(items)
    return [items[i * len(items) // limit] for i in range(limit)]


def merge_groups(groups: Sequence[Group], size: int) -> list[Group]:
    """Merge every ``size`` groups into one memory: all sessions first, then all samples.

    Conditional memory (section 4.1) merges ten samples like this to make the memory large.
    """
    return [_merge(groups[i : i + size]) for i in range(0, len(groups), size)]


def turn_record(turn: Turn) -> dict[str, Any]:
    """Return a source turn as results hold it."""
    return {
        "turn": turn.id,
        "session": turn.session,
        "speaker": turn.speaker,
        "at": turn.at.isoformat(),
        "text": turn.full_text,
    }


def count_samples(groups: Iterable[Group]) -> int:
    """Return the number of samples."""
    return sum(len(group.samples) for group in groups)


def _select(group: Group, ids: set[str]) -> Group:
    stages = [
        Stage(histories=stage.histories, samples=tuple(s for s in stage.samples if s.id in ids))
        for stage in group.stages
    ]
    while stages and not stages[-1].samples:  # no sample needs these sessions
        stages.pop()
    return replace(group, stages=tuple(stages))


def _merge(groups: Sequence[Group]) -> Group:
    histories = [h for group in groups for stage in group.stages for h in stage.histories]
    samples = [sample for group in groups for sample in group.samples]
    dropped: dict[str, int] = {}
    for group in groups:
        for reason, count in group.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + count
    stage = Stage(histories=tuple(histories), samples=tuple(samples))
    return Group(
        id="+".join(group.id for group in groups),
        stages=(stage,),
        dropped=dropped,
        dataset=groups[0].dataset,
    )
