"""Generate pieces of data with a language model: journaled, and with a forecast of the cost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from theanine.errors import ModelError
from theanine.llm.base import ChatModel, PricedModel
from theanine.llm.chat import ScopedChat
from theanine.llm.gather import gather
from theanine.llm.limits import Limits
from theanine.llm.prompt import PromptTemplate
from theanine.llm.prompt_folder import NO_PROMPTS, PromptFolder
from theanine.text.formatting import estimate_tokens
from theanine.types import Scope
from theanine_bench.runs.journal import journalled_chat

T = TypeVar("T")
CONCURRENCY = 4
"""Pieces generated at once."""
PACKAGE = "theanine_bench.generation"
"""The package whose folder ``prompts`` has the prompts."""
SCOPE = Scope("bench generate")
"""The scope of the calls in the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call that will be made: its step, and estimated tokens of what it quotes and replies."""

    step: PromptTemplate[Any]
    quoted_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft(Generic[T]):
    """A piece of data to generate: the questions about one session, or one sample.

    Attributes:
        id: its name in messages.
        write: generates it. Raises ModelError.
        calls: the calls that it takes, for the forecast.
    """

    id: str
    write: Callable[[ScopedChat], Awaitable[T]]
    calls: Sequence[Call]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The estimated cost of some drafts, as if nothing were in the journal.

    Attributes:
        cost: US dollars; None where the model's price is unknown.
    """

    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated(Generic[T]):
    """The pieces that were generated, in order, and why the others were not, by id."""

    pieces: Sequence[T]
    failures: Sequence[tuple[str, str]]


def expect_call(step: PromptTemplate[Any], output_tokens: int, *texts: str) -> Call:
    """Return the call of a step whose prompt quotes these texts."""
    quoted = sum(map(estimate_tokens, texts))
    return Call(step=step, quoted_tokens=quoted, output_tokens=output_tokens)


def forecast(
    drafts: Iterable[Draft[Any]], model: ChatModel, prompts: PromptFolder | None = None
) -> Forecast:
    """Estimate the cost of generating the drafts."""
    calls = [call for draft in drafts for call in draft.calls]
    own = prompts or NO_PROMPTS
    tokens = (
        sum(estimate_tokens(own.replace(c.step).template) + c.quoted_tokens for c in calls),
        sum(c.output_tokens for c in calls),
    )
    return Forecast(
        calls=len(calls),
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        cost=model.price(*tokens) if isinstance(model, PricedModel) else None,
    )


async def generate(
    drafts: Sequence[Draft[T]],
    journal: Path,
    model: ChatModel,
    *,
    limits: Limits | None = None,
    prompts: PromptFolder | None = None,
    progress: Callable[[], None] = lambda: None,
) -> Generated[T]:
    """Generate the drafts.

    Replies are kept in ``journal``, so that the same call after a failure pays for nothing twice.
    """
    pieces: list[T] = []
    failures: list[tuple[str, str]] = []
    async with journalled_chat(journal, model, SCOPE, limits=limits, prompts=prompts) as chat:
        for start in range(0, len(drafts), CONCURRENCY):
            batch = drafts[start : start + CONCURRENCY]
            outcomes = await gather([partial(_write, draft, chat) for draft in batch])
            for draft, outcome in zip(batch, outcomes, strict=True):
                if isinstance(outcome, ModelError):
                    failures.append((draft.id, str(outcome)))
                else:
                    pieces.append(outcome)
                progress()
    return Generated(pieces=pieces, failures=failures)


async def _write(draft: Draft[T], chat: ScopedChat) -> T | ModelError:
    try:
        return await draft.write(chat)
    except ModelError as error:
        return error
