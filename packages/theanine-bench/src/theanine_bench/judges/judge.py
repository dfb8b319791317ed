"""Metrics that ask a judging model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from theanine.errors import ModelError, SettingsError
from theanine.llm.chat import ScopedChat
from theanine.llm.prompt import PromptTemplate
from theanine_bench.metrics.base import Labeled
from theanine_bench.samples import SampleResult, Score

T = TypeVar("T", bound=BaseModel)
PROMPTS = "theanine_bench.judges"
"""The package whose folder ``prompts`` has every judge's prompt."""


class Unjudged(ModelError):
    """A result lacks what the judge compares with: no model is called, and the judge fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePrompt(Generic[T]):
    """A judge's prompt for one kind of result.

    Attributes:
        values: returns the prompt's values for a result; may raise Unjudged.
        to_scores: converts a verdict into named scores.
        check: returns what is wrong with a verdict that fits the schema, or None.
    """

    step: PromptTemplate[T]
    values: Callable[[SampleResult], Mapping[str, str]]
    to_scores: Callable[[T], Mapping[str, float]]
    check: Callable[[SampleResult, T], str | None] = lambda _result, _verdict: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A :class:`theanine_bench.metrics.base.Metric` that asks a model.

    Attributes:
        name: its scores have this name, or start with it and a slash.
        worst: the scores of a result without an answer.
        prompt: chooses the prompt for a result.
        labels: the labels that people may give when the judge is checked.
        source: the paper and the scale.
        binary: see :class:`theanine_bench.metrics.base.Metric`.
    """

    name: str
    worst: Mapping[str, float]
    prompt: Callable[[SampleResult], JudgePrompt[Any]]
    labels: Sequence[str] | range
    source: str
    binary: bool | Callable[[Labeled], bool] = False
    needs_judge = True

    async def score(self, result: SampleResult, judge: ScopedChat | None) -> Score:
        """Return the scores with the verdict, the judging model and the prompt's version.

        Raises ModelError if the judge fails (Unjudged if the result lacks what it compares with),
        and SettingsError without a judging model.
        """
        if judge is None:
            raise SettingsError(f"{self.name} is judged by a model: name one with --judge")
        prompt = self.prompt(result)
        verdict = await judge.ask(
            prompt.step,
            self.name,
            source_sessions=(),  # the judge's own scope has no sessions
            check=lambda reply: prompt.check(result, reply),
            bounds=None,
            repairs=None,
            limits=None,
            **prompt.values(result),
        )
        record = {**verdict.model_dump(), "model": judge.model, "prompt": prompt.step.label}
        return Score(values=prompt.to_scores(verdict), verdict=record)


def always(prompt: JudgePrompt[Any]) -> Callable[[SampleResult], JudgePrompt[Any]]:
    """Return a chooser of the same prompt for every result."""
    return lambda _: prompt
