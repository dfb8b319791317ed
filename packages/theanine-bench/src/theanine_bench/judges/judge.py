"""What every judge is: a form of asking, chosen by the item, and the numbers that its verdict has.

A judge is a :class:`theanine_bench.metrics.base.Measure`: a run asks it of each item that has an
answer, keeps its words beside the numbers, and counts its failures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from theanine.errors import ModelError, SettingsError
from theanine.llm.chat import ScopedChat
from theanine.llm.prompt import PromptTemplate
from theanine_bench.samples import SampleResult, Score

T = TypeVar("T", bound=BaseModel)
PROMPTS = "theanine_bench.judges"
"""The package whose folder ``prompts`` has every judge's prompt."""


class Unjudged(ModelError):
    """The item lacks what the judge must compare with: no model was asked, and nothing is scored.

    A run counts it among the judge's failures.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePrompt(Generic[T]):
    """One way to ask.

    Attributes:
        step: prompt and schema.
        values: what fills the prompt, of an item. May raise Unjudged.
        score: the numbers that a verdict comes to, by name.
        check: what is wrong with a verdict on an item although it fits its schema, or None.
    """

    step: PromptTemplate[T]
    values: Callable[[SampleResult], Mapping[str, str]]
    to_scores: Callable[[T], Mapping[str, float]]
    check: Callable[[SampleResult, T], str | None] = lambda _item, _verdict: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A judge by its name.

    Attributes:
        name: its numbers have this name, or begin with it and a slash.
        worst: what an item without an answer scores, by name.
        form: how it asks about an item.
        labels: what a person may call an item, to check the judge: words, or whole numbers.
        source: whose judge it is, for people.
    """

    name: str
    worst: Mapping[str, float]
    prompt: Callable[[SampleResult], JudgePrompt[Any]]
    labels: Sequence[str] | range
    source: str

    @property
    def needs_judge(self) -> bool:
        """It asks a model."""
        return True

    async def score(self, result: SampleResult, judge: ScopedChat | None) -> Score:
        """The verdict on an item that has an answer, its words and who gave it included.

        Raises ModelError when the judge fails (Unjudged: it had nothing to go by), and
        SettingsError without a judging model.
        """
        if judge is None:
            raise SettingsError(f"{self.name} is judged by a model: name one with --judge")
        form = self.prompt(result)
        verdict = await judge.ask(
            form.step,
            source_sessions=(),  # the judge's own scope has no sessions
            check=lambda said: form.check(result, said),
            **form.values(result),
        )
        words = {**verdict.model_dump(), "model": judge.model, "prompt": form.step.label}
        return Score(values=form.to_scores(verdict), verdict=words)


def always(form: JudgePrompt[Any]) -> Callable[[SampleResult], JudgePrompt[Any]]:
    """The same form for every item."""
    return lambda _: form
