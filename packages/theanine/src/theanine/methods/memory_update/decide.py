"""Which operation each pair of an older and a newer statement calls for.

Two ways to ask the model, one result: a call for each pair (as Theanine runs Bae et al.), or one
for all pairs of a session.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field, field_validator

from theanine.llm.gather import gather
from theanine.llm.prompt import load_prompt
from theanine.methods.memory_update.decision import Decision, Operation, Pair
from theanine.methods.memory_update.local_decide import local_decide
from theanine.text.formatting import day_label, format_day, group_by_day, one_line
from theanine.types import Memory, NewMemory

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

Asking = Literal["session", "pairs"]
"""How the model is asked: once for a session's pairs, or once a pair."""
Behind = Callable[[Sequence[Memory]], set[int]]
"""Gives the sessions whose words memories may hold."""

PAIRS_PER_CALL = 24
_OPERATIONS = {str(operation).casefold(): operation for operation in Operation}


class _Decided(BaseModel):
    explanation: str = Field(description="the evidence, in a few words")
    operation: Operation

    @field_validator("operation", mode="before")
    @classmethod
    def _spelled(cls, value: object) -> object:
        """Take ``APPEND`` and ``'replace'`` for what they mean."""
        plain = "".join(ch for ch in str(value) if ch.isalpha()).casefold()
        return _OPERATIONS.get(plain, value)

    def decision(self, pair: Pair, model: str, prompt: str) -> Decision:
        """The same as the method keeps it."""
        return Decision(
            pair=pair,
            operation=self.operation,
            explanation=" ".join(self.explanation.split()),
            made_by=model,
            prompt=prompt,
        )


class PairDecision(_Decided):
    """The model's answer for one pair."""


class NumberedDecision(_Decided):
    """The model's answer for one of several pairs."""

    pair: int = Field(description="the pair's number")


class Decisions(BaseModel):
    """The model's answer for several pairs."""

    decisions: list[NumberedDecision]


UPDATE = load_prompt("theanine.methods.memory_update", "update-memories", 1, Decisions)
UPDATE_PAIR = load_prompt("theanine.methods.memory_update", "update-memory-pair", 1, PairDecision)


async def decide(
    pairs: Sequence[Pair],
    session: int,
    caller: ScopedChat | None,
    *,
    asking: Asking,
    behind: Behind,
    undated: Collection[int] = (),
) -> list[Decision]:
    """One decision for each pair, in the order of ``pairs``.

    ``session`` is the one that the new statements come from. Without a caller the local version
    decides. Raises ModelError when the model fails or keeps answering unusably.
    """
    if caller is None:
        return [local_decide(pair) for pair in pairs]
    ask = _Asking(caller, session, behind, undated)
    if asking == "pairs":
        return await gather([partial(ask.pair, pair) for pair in pairs])
    step = PAIRS_PER_CALL
    batches = [pairs[i : i + step] for i in range(0, len(pairs), step)]
    answers = await gather([partial(ask.batch, batch) for batch in batches])
    return [decision for answer in answers for decision in answer]


class _Asking:
    """Asks about pairs of one session."""

    def __init__(
        self, caller: ScopedChat, session: int, behind: Behind, undated: Collection[int]
    ) -> None:
        self._caller, self._session = caller, session
        self._behind, self._undated = behind, undated

    async def pair(self, pair: Pair) -> Decision:
        """One call for one pair."""
        answer = await self._caller.ask(
            UPDATE_PAIR,
            source_sessions=self._behind([pair.older]) | {self._session},
            older=self._dated(pair.older, pair.older.session),
            newer=self._dated(pair.newer, self._session),
        )
        return answer.decision(pair, self._caller.model, UPDATE_PAIR.label)

    async def batch(self, pairs: Sequence[Pair]) -> list[Decision]:
        """One call for several pairs."""
        older = sorted({p.older.id: p.older for p in pairs}.values(), key=lambda m: m.order)
        newer = {pair.index: pair.newer for pair in pairs}
        answer = await self._caller.ask(
            UPDATE,
            source_sessions=self._behind(older) | {self._session},
            check=partial(_unanswered, len(pairs)),
            kept=self._labelled("M", [(one, one.session) for one in older]),
            new=self._labelled("N", [(one, self._session) for one in newer.values()]),
            pairs=_pair_lines(pairs, [one.id for one in older], list(newer)),
        )
        by_number = {one.pair: one for one in answer.decisions}
        model = self._caller.model
        return [
            by_number[number].decision(pair, model, UPDATE.label)
            for number, pair in enumerate(pairs, 1)
        ]

    def _dated(self, memory: Memory | NewMemory, session: int) -> str:
        return format_day(memory.at, session not in self._undated) + one_line(memory.text)

    def _labelled(self, letter: str, memories: Sequence[tuple[Memory | NewMemory, int]]) -> str:
        return group_by_day(
            (
                day_label(memory.at, session not in self._undated),
                f"{letter}{n} {one_line(memory.text)}",
            )
            for n, (memory, session) in enumerate(memories, 1)
        )


def _pair_lines(pairs: Sequence[Pair], older: Sequence[int], newer: Sequence[int]) -> str:
    """``1: M2 N1``, by the places of the statements in their lists."""
    m = {memory: label for label, memory in enumerate(older, 1)}
    n = {index: label for label, index in enumerate(newer, 1)}
    return "\n".join(
        f"{number}: M{m[pair.older.id]} N{n[pair.index]}" for number, pair in enumerate(pairs, 1)
    )


def _unanswered(count: int, answer: Decisions) -> str | None:
    """What is wrong with the pair numbers of an answer, in words; None when nothing is."""
    given = [one.pair for one in answer.decisions]
    if missing := [number for number in range(1, count + 1) if number not in given]:
        return f"no decision for pairs {missing}"
    if strange := sorted({number for number in given if not 1 <= number <= count}):
        return f"there are no pairs {strange}, only 1 to {count}"
    if doubled := sorted({number for number in given if given.count(number) > 1}):
        return f"more than one decision for pairs {doubled}"
    return None
