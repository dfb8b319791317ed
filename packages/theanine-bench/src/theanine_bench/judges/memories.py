"""Judges of memories: which memories match a statement, and whether their turns support them."""

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
"""Maximum estimated tokens of source turns per call; one memory's turns may exceed it."""


class Match(BaseModel):
    """The memories that match one wanted statement."""

    wanted: int = Field(description="the statement's number")
    explanation: str = Field(description="why, in a few words")
    memories: list[int]


class Matches(BaseModel):
    """A match for each wanted statement."""

    matches: list[Match]


class Support(BaseModel):
    """Whether its source turns support one memory."""

    memory: int = Field(description="the memory's number")
    explanation: str = Field(description="why, in a few words")
    label: Literal["supported", "partly", "unsupported", "empty"]


class Supports(BaseModel):
    """A verdict on each memory."""

    verdicts: list[Support]


MATCH = load_prompt(PROMPTS, "match-memories", 1, Matches)
SUPPORT = load_prompt(PROMPTS, "support-memories", 1, Supports)


async def match(
    wanted: Sequence[str],
    memories: Sequence[str],
    candidates: Sequence[Sequence[int]],
    judge: ScopedChat,
) -> list[list[int]]:
    """Return for each wanted statement the indexes of the memories that match it.

    ``candidates`` has for each statement the indexes of the memories to compare; the others count
    as not matching. Raises ModelError.
    """
    matches: list[list[int]] = [[] for _ in wanted]
    pending = [index for index in range(len(wanted)) if candidates[index]]

    async def ask(batch: Sequence[int]) -> None:
        shown = sorted({memory for index in batch for memory in candidates[index]})
        reply = await judge.ask(
            MATCH,
            source_sessions=(),  # the judge's own scope has no sessions
            check=partial(_check_matches, len(batch), len(shown)),
            wanted=_numbered_list(wanted[index] for index in batch),
            memories=_numbered_list(memories[index] for index in shown),
        )
        for each in reply.matches:
            matches[batch[each.wanted - 1]] = sorted({shown[n - 1] for n in each.memories})

    starts = range(0, len(pending), WANTED_PER_CALL)
    await gather([partial(ask, pending[start : start + WANTED_PER_CALL]) for start in starts])
    return matches


async def supports(memories: Sequence[WrittenMemory], judge: ScopedChat) -> list[Support]:
    """Return a verdict on each memory. One without source turns is unsupported without a call.

    Raises ModelError.
    """
    verdicts: dict[int, Support] = {
        index: Support(memory=index, explanation="it names no source turn", label="unsupported")
        for index, memory in enumerate(memories)
        if not memory.sources
    }

    async def ask(batch: Sequence[int]) -> None:
        turns = {source["turn"]: source for index in batch for source in memories[index].sources}
        numbers = {turn: number for number, turn in enumerate(sorted(turns), 1)}
        reply = await judge.ask(
            SUPPORT,
            source_sessions=(),
            check=lambda reply: _check_numbers([v.memory for v in reply.verdicts], len(batch)),
            turns="\n".join(f"[{n}] {_format_turn(turns[turn])}" for turn, n in numbers.items()),
            memories=_numbered_list(_format_memory(memories[index], numbers) for index in batch),
        )
        verdicts.update({batch[verdict.memory - 1]: verdict for verdict in reply.verdicts})

    await gather([partial(ask, batch) for batch in _batches(memories)])
    return [verdicts[index] for index in range(len(memories))]


def _batches(memories: Sequence[WrittenMemory]) -> Iterator[list[int]]:
    """Yield indexes of memories to judge in one call."""
    batch: list[int] = []
    tokens = 0
    for index, memory in enumerate(memories):
        if not memory.sources:
            continue
        size = sum(estimate_tokens(str(turn["text"])) + 10 for turn in memory.sources)
        if batch and (tokens + size > TURN_TOKENS or len(batch) == MEMORIES_PER_CALL):
            yield batch
            batch, tokens = [], 0
        batch.append(index)
        tokens += size
    if batch:
        yield batch


def _format_turn(turn: Mapping[str, Any]) -> str:
    at = format_date(datetime.fromisoformat(turn["at"]))
    return f"({at}) {format_speaker(turn['speaker'])}: {one_line(turn['text'])}"


def _format_memory(memory: WrittenMemory, numbers: Mapping[int, int]) -> str:
    sources = ",".join(str(numbers[source["turn"]]) for source in memory.sources)
    return f"{memory.text} [{sources}]"


def _numbered_list(texts: Iterable[str]) -> str:
    return "\n".join(f"{number}. {one_line(text)}" for number, text in enumerate(texts, 1))


def _check_matches(wanted: int, memories: int, reply: Matches) -> str | None:
    if error := _check_numbers([each.wanted for each in reply.matches], wanted):
        return error
    numbers = {number for each in reply.matches for number in each.memories}
    unknown = sorted(number for number in numbers if not 1 <= number <= memories)
    return f"there are no memories {unknown}, only 1 to {memories}" if unknown else None


def _check_numbers(numbers: Sequence[int], count: int) -> str | None:
    """Return what is wrong unless the numbers are 1 to ``count``, each once."""
    if sorted(numbers) == list(range(1, count + 1)):
        return None
    return f"it needs 1 to {count}, each once, not {numbers}"
