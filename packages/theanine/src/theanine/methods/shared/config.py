"""Settings that several methods share, and the checks of their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from theanine.errors import SettingsError
from theanine.llm.base import ReplyPrompt
from theanine.retrieval.scope_index import RetrievalMode

_ALTERNATIVES = {"query_turns": ", or None for the whole dialogue", "budget": " tokens, or None"}


def check_minimums(config: object, **minimums: int) -> None:
    """Raise SettingsError for a setting below its minimum; None passes."""
    for name, minimum in minimums.items():
        value = getattr(config, name)
        if value is not None and value < minimum:
            raise SettingsError(
                f"{name} must be at least {minimum}{_ALTERNATIVES.get(name, '')}, not {value}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyConfig:
    """How a reply is asked for.

    Attributes:
        reply_prompt: the prompt of a reply: a ``chat``, whose turns are messages, or a
            ``transcript`` of them in one message (the papers).
        temperature: temperature of all calls of the method, in place of the model's setting; None
            leaves it to the model.
    """

    reply_prompt: ReplyPrompt = "chat"
    temperature: float | None = None

    def __post_init__(self) -> None:
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise SettingsError(f"temperature must be from 0 to 2, not {self.temperature}")


def find_temperature(method: object, *model_settings: object) -> float | None:
    """Return the temperature that a method's settings have, or None.

    Raises SettingsError if settings of its models name one as well, which would be of no effect.
    """
    temperature: float | None = getattr(getattr(method, "config", None), "temperature", None)
    named = any(isinstance(each, Mapping) and "temperature" in each for each in model_settings)
    if temperature is not None and named:
        raise SettingsError(
            f"the method's own temperature, {temperature}, replaces the model's: set the method's "
            "instead, such as --set temperature=0"
        )
    return temperature


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetConfig(ReplyConfig):
    """Settings of a recall that returns everything up to a budget.

    Attributes:
        budget: maximum tokens of the recollection (bundled tokenizer), newest first; None sets no
            limit.
    """

    budget: int | None = None

    def __post_init__(self) -> None:
        ReplyConfig.__post_init__(self)
        check_minimums(self, budget=0)

    @classmethod
    def paper(cls) -> Self:
        """Return the values of evaluations: everything, over a transcript."""
        return cls(reply_prompt="transcript")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryConfig(ReplyConfig):
    """Settings of a recall that makes a query of the dialogue.

    Attributes:
        query_turns: number of latest turns of the dialogue that form the query; None takes all.
        query_names: put each turn's speaker before it in the query.
        budget: maximum tokens of the recollection (bundled tokenizer); None sets no limit.
    """

    query_turns: int | None = 6
    query_names: bool = False
    budget: int | None = None

    def __post_init__(self) -> None:
        ReplyConfig.__post_init__(self)
        check_minimums(self, query_turns=1, budget=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallConfig(QueryConfig):
    """Settings of a recall that retrieves memories and packs them into a budget.

    Attributes:
        retrieved: maximum number of memories to return when there is no token budget.
        retrieval: ``dense`` ranks by cosine, ``lexical`` by BM25, ``hybrid`` by all evidence of
            :class:`theanine.retrieval.ranking.RankingConfig`; ``okapi`` by the BM25 of LangChain,
            with which published figures were made.
    """

    retrieved: int = 6
    retrieval: RetrievalMode = "hybrid"

    def __post_init__(self) -> None:
        QueryConfig.__post_init__(self)
        check_minimums(self, retrieved=1)
