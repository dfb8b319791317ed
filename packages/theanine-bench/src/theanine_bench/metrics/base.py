"""The port of measures: of one item, by a rule or by a judging model, or over a whole run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from theanine.llm.chat import ScopedChat
from theanine_bench.runs.item import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What a measure says of an item: numbers by name, and a judge's words."""

    values: Mapping[str, float]
    verdict: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Measure(Protocol):
    """Measures one item. A judge is a measure that asks a model.

    Attributes:
        name: its own; the names of its values begin with it or are it.
        judging: whether it asks a model.
        worst: the least an item can score, by name; for judges, what one without an answer does.
    """

    @property
    def name(self) -> str: ...

    @property
    def judging(self) -> bool: ...

    @property
    def worst(self) -> Mapping[str, float]: ...

    async def of(self, item: Item, judge: ScopedChat | None) -> Scored:
        """Measure an item. A judge is only asked of one that has an answer; for other measures a
        missing answer says nothing at all. No values where there is nothing to compare with.

        Raises ModelError when the judge fails: that is recorded beside the score, never as a score.
        """
        ...


class CorpusMeasure(Protocol):
    """Measures all items of a run together, answered or not."""

    @property
    def name(self) -> str:
        """Its name; the names of its values begin with it or are it."""
        ...

    def over(self, items: Sequence[Item]) -> Mapping[str, float]:
        """Numbers by name. Raises MissingExtra or SettingsError where a part is missing."""
        ...
