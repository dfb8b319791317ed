"""Decide on the operation for each pair of an older and a newer statement.

The model is asked in one call for all pairs of a session, or once for each pair, as Theanine runs
Bae et al.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field, field_validator

from theanine.llm.bounds import ReplyBounds
from theanine.llm.gather import gather
from theanine.llm.parsing import InvalidReply
from theanine.llm.prompt import load_prompt
from theanine.llm.published import partition_label
from theanine.methods.shared.pairs import (
    PAIRS_PER_CALL,
    Pair,
    format_labeled,
    format_pairs,
    format_statement,
    pairs_bounds,
    pairs_fault,
    split_pairs,
)
from theanine.types import Memory, Session
from theanine_methods.memory_update.local_decide import local_decide
from theanine_methods.memory_update.operations import Decision, Operation

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

SourceSessions = Callable[[Sequence[Memory]], set[int]]
"""Returns the ids of the sessions that memories may quote."""

_OPERATIONS = {str(operation).casefold(): operation for operation in Operation}
_IN_CAPITALS = [name.upper() for name in _OPERATIONS]


class _Decided(BaseModel):
    explanation: str = Field(description="the evidence, in a few words")
    operation: Operation

    @field_validator("operation", mode="before")
    @classmethod
    def _normalize(cls, value: object) -> object:
        """Read ``APPEND`` and ``'replace'`` as the operations that they name."""
        letters = "".join(ch for ch in str(value) if ch.isalpha()).casefold()
        return _OPERATIONS.get(letters, value)

    def decision(self, pair: Pair, model: str, prompt: str) -> Decision:
        return Decision(
            pair=pair,
            operation=self.operation,
            explanation=" ".join(self.explanation.split()),
            made_by=model,
            prompt=prompt,
        )


class PairDecision(_Decided):
    """The model's reply for one pair."""


class NumberedDecision(_Decided):
    """The decision for one of several pairs."""

    pair: int = Field(description="the pair's number")


class Decisions(BaseModel):
    """The model's reply for several pairs."""

    decisions: list[NumberedDecision]


def _published(reply: str, _: Mapping[str, str]) -> dict[str, str]:
    """Read the operation that a reply names in capitals, or alone, outside of its explanation."""
    before, found, explanation = partition_label(reply, "Explanation")
    operation = partition_label(explanation, "(?:Operation|Relation|Answer)")
    outside = f"{before}\n{operation[2]}"
    alone = re.fullmatch(r"\W*(?:\w+\W*:)?\W*(\w+)\W*", outside)
    words = [alone[1].upper()] if alone else re.findall(r"\w+", outside)
    named = {word for word in words if word in _IN_CAPITALS}
    if len(named) != 1:
        raise InvalidReply(
            f"it names {'several' if named else 'none'} of {', '.join(_IN_CAPITALS)}"
            + " outside of its explanation" * found
        )
    return {"operation": named.pop(), "explanation": (operation[0] if found else reply).strip()}


UPDATE = load_prompt("theanine_methods.memory_update", "update-memories", 1, Decisions)
UPDATE_PAIR = load_prompt(
    "theanine_methods.memory_update",
    "update-memory-pair",
    1,
    PairDecision,
    ReplyBounds(250, {"explanation": {"maxLength": 400}}),
    published=_published,
)


async def decide(
    pairs: Sequence[Pair],
    session: Session,
    chat: ScopedChat | None,
    *,
    asking: Literal["session", "pairs"],
    source_sessions: SourceSessions,
) -> list[Decision]:
    """Return one decision for each pair, in order; without a model, :func:`local_decide` decides.

    ``session`` is that of the new statements. Raises ModelError when the model fails.
    """
    if chat is None:
        return [local_decide(pair) for pair in pairs]
    if asking == "pairs":
        return await gather(
            [partial(_decide_pair, pair, session, chat, source_sessions) for pair in pairs]
        )
    batches = [pairs[i : i + PAIRS_PER_CALL] for i in range(0, len(pairs), PAIRS_PER_CALL)]
    replies = await gather(
        [partial(_decide_batch, batch, session, chat, source_sessions) for batch in batches]
    )
    return [decision for reply in replies for decision in reply]


async def _decide_pair(
    pair: Pair, session: Session, chat: ScopedChat, source_sessions: SourceSessions
) -> Decision:
    reply = await chat.ask(
        UPDATE_PAIR,
        source_sessions=source_sessions([pair.older]) | {session.id},
        older=format_statement(pair.older, pair.older.dated),
        newer=format_statement(pair.newer, session.dated),
    )
    return reply.decision(pair, chat.model, UPDATE_PAIR.label)


async def _decide_batch(
    pairs: Sequence[Pair], session: Session, chat: ScopedChat, source_sessions: SourceSessions
) -> list[Decision]:
    older, newer = split_pairs(pairs)
    reply = await chat.ask(
        UPDATE,
        source_sessions=source_sessions(older) | {session.id},
        check=partial(_fault, len(pairs)),
        bounds=pairs_bounds("decisions", len(pairs)),
        kept=format_labeled("M", ((memory, memory.dated, "") for memory in older)),
        new=format_labeled("N", ((memory, session.dated, "") for memory in newer)),
        pairs=format_pairs(pairs),
    )
    by_number = {decided.pair: decided for decided in reply.decisions}
    return [
        by_number[number].decision(pair, chat.model, UPDATE.label)
        for number, pair in enumerate(pairs, 1)
    ]


def _fault(count: int, reply: Decisions) -> str | None:
    return pairs_fault([decided.pair for decided in reply.decisions], count, "decision")
