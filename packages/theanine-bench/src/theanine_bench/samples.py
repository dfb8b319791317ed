"""What is asked of a memory: cases, after the sessions that come before them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from theanine.types import History, Utterance


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing that is asked of a memory.

    Attributes:
        id: unique in the whole plan.
        category: what sort of question, as its data set says.
        dialogue: what was said so far; its last turn is what must be answered.
        reference: what a good answer says; empty where the data has none.
        speaker: who answers.
        extra: what its measures need beside that, JSON-ready.
    """

    id: str
    category: str = ""
    dialogue: tuple[Utterance, ...]
    reference: str = ""
    speaker: str = "assistant"
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Sessions that are logged and remembered, and the cases that are asked right after."""

    histories: tuple[History, ...] = ()
    cases: tuple[Case, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Stages that share one memory, in order; ``dropped`` counts unusable labels by reason."""

    id: str
    stages: tuple[Stage, ...]
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def cases(self) -> list[Case]:
        """The cases of all stages, in order."""
        return [case for stage in self.stages for case in stage.cases]


def limited(groups: Sequence[Group], limit: int | None) -> list[Group]:
    """The groups with ``limit`` cases in all, evenly spread; all of them with None.

    Groups that are left without a case are left out.
    """
    cases = [case.id for group in groups for case in group.cases]
    if limit is None or limit >= len(cases):
        return list(groups)
    kept = {cases[place * len(cases) // limit] for place in range(limit)}
    return [group for one in groups if (group := _only(one, kept)).cases]


def merged(groups: Sequence[Group], size: int) -> list[Group]:
    """Groups joined by ``size`` into one memory each: all their sessions first, then all cases.

    Conditional memory (section 4.1) merges ten samples so, to make the memory large.
    """
    return [_merge(groups[i : i + size]) for i in range(0, len(groups), size)]


def count(groups: Iterable[Group]) -> int:
    """How many cases there are."""
    return sum(len(group.cases) for group in groups)


def _only(group: Group, kept: set[str]) -> Group:
    stages: list[Stage] = []
    for stage in group.stages:
        cases = tuple(case for case in stage.cases if case.id in kept)
        stages.append(Stage(histories=stage.histories, cases=cases))
    while stages and not stages[-1].cases:  # nothing is asked after these
        stages.pop()
    return Group(id=group.id, stages=tuple(stages), dropped=group.dropped)


def _merge(some: Sequence[Group]) -> Group:
    histories = [h for group in some for stage in group.stages for h in stage.histories]
    cases = [case for group in some for case in group.cases]
    dropped: dict[str, int] = {}
    for group in some:
        for reason, number in group.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + number
    stage = Stage(histories=tuple(histories), cases=tuple(cases))
    return Group(id="+".join(group.id for group in some), stages=(stage,), dropped=dropped)
