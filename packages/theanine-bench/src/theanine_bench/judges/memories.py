"""Judges of what a memory holds: which memories say what, and whether their turns bear them out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, Field

from theanine.llm.chat import ScopedChat
from theanine.llm.gather import gather
from theanine.llm.prompt import load_prompt
from theanine.text.formatting import estimate_tokens, format_speaker, one_line
from theanine.text.words import format_date
from theanine_bench.judges.judge import PROMPTS
from theanine_bench.metrics.memory_rules import WrittenMemory

WANTED_PER_CALL = 10
MEMORIES_PER_CALL = 10
TURN_TOKENS = 4_000
"""Tokens of source turns, by a rough upper count, that several memories share in one call."""


class Match(BaseModel):
    """Which memories say one wanted statement."""

    wanted: int = Field(description="the statement's number")
    explanation: str = Field(description="why, in a few words")
    memories: list[int]


class Matches(BaseModel):
    """A match for each wanted statement."""

    matches: list[Match]


class Support(BaseModel):
    """Whether its turns bear one memory out."""

    memory: int = Field(description="the memory's number")
    explanation: str = Field(description="why, in a few words")
    label: Literal["supported", "partly", "unsupported", "empty"]


class Supports(BaseModel):
    """A verdict on each memory."""

    verdicts: list[Support]


MATCH = load_prompt(PROMPTS, "match-memories", 1, Matches)
SUPPORT = load_prompt(PROMPTS, "support-memories", 1, Supports)


async def match(
    wanted: Sequence[str], memories: Sequence[str], near: Sequence[Sequence[int]], judge: ScopedChat
) -> list[list[int]]:
    """For each wanted statement the places of the memories that say it.

    ``near`` has, for each, the places of those worth reading; the others are taken not to say it.
    Raises ModelError.
    """
    found: list[list[int]] = [[] for _ in wanted]
    asked = [place for place in range(len(wanted)) if near[place]]

    async def ask(batch: Sequence[int]) -> None:
        shown = sorted({memory for place in batch for memory in near[place]})
        said = await judge.ask(
            MATCH,
            source_sessions=(),  # the judge's own scope has no sessions
            check=partial(_mismatch, len(batch), len(shown)),
            wanted=_numbered(wanted[place] for place in batch),
            memories=_numbered(memories[memory] for memory in shown),
        )
        for one in said.matches:
            found[batch[one.wanted - 1]] = sorted({shown[number - 1] for number in one.memories})

    starts = range(0, len(asked), WANTED_PER_CALL)
    await gather([partial(ask, asked[start : start + WANTED_PER_CALL]) for start in starts])
    return found


async def supports(memories: Sequence[WrittenMemory], judge: ScopedChat) -> list[Support]:
    """A verdict on each memory; one without a source turn is unsupported, and is not asked about.

    Raises ModelError.
    """
    found: dict[int, Support] = {
        place: Support(memory=place, explanation="it names no source turn", label="unsupported")
        for place, one in enumerate(memories)
        if not one.sources
    }

    async def ask(batch: Sequence[int]) -> None:
        shown = {one["turn"]: one for place in batch for one in memories[place].sources}
        numbers = {turn: number for number, turn in enumerate(sorted(shown), 1)}
        said = await judge.ask(
            SUPPORT,
            source_sessions=(),
            check=partial(_unsaid, len(batch)),
            turns="\n".join(f"[{numbers[turn]}] {_turn(shown[turn])}" for turn in sorted(shown)),
            memories=_numbered(_resting(memories[place], numbers) for place in batch),
        )
        found.update({batch[one.memory - 1]: one for one in said.verdicts})

    await gather([partial(ask, batch) for batch in _batches(memories)])
    return [found[place] for place in range(len(memories))]


def _batches(memories: Sequence[WrittenMemory]) -> Iterator[list[int]]:
    """Places of memories that are asked about together; one with very many turns stands alone."""
    batch: list[int] = []
    tokens = 0
    for place, one in enumerate(memories):
        if not one.sources:
            continue
        size = sum(estimate_tokens(str(turn["text"])) + 10 for turn in one.sources)
        if batch and (tokens + size > TURN_TOKENS or len(batch) == MEMORIES_PER_CALL):
            yield batch
            batch, tokens = [], 0
        batch.append(place)
        tokens += size
    if batch:
        yield batch


def _turn(turn: Mapping[str, Any]) -> str:
    at = format_date(datetime.fromisoformat(turn["at"]))
    return f"({at}) {format_speaker(turn['speaker'])}: {one_line(turn['text'])}"


def _resting(memory: WrittenMemory, numbers: Mapping[int, int]) -> str:
    behind = ",".join(str(numbers[one["turn"]]) for one in memory.sources)
    return f"{memory.text} [{behind}]"


def _numbered(texts: Iterable[str]) -> str:
    return "\n".join(f"{number}. {one_line(text)}" for number, text in enumerate(texts, 1))


def _mismatch(wanted: int, memories: int, said: Matches) -> str | None:
    """What is wrong with the numbers of an answer, or None."""
    if fault := _incomplete([one.wanted for one in said.matches], wanted):
        return fault
    given = {number for one in said.matches for number in one.memories}
    strange = sorted(number for number in given if not 1 <= number <= memories)
    return f"there are no memories {strange}, only 1 to {memories}" if strange else None


def _unsaid(memories: int, said: Supports) -> str | None:
    return _incomplete([one.memory for one in said.verdicts], memories)


def _incomplete(given: Sequence[int], count: int) -> str | None:
    wanted = list(range(1, count + 1))
    return None if sorted(given) == wanted else f"it needs 1 to {count}, each once, not {given}"
