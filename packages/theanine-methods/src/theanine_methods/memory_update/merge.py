"""Merge a changed statement with what it changes into one, by the model or locally."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.bounds import ReplyBounds, number_between
from theanine.llm.gather import gather
from theanine.llm.prompt import load_prompt
from theanine.text.formatting import day_label, one_line
from theanine.text.words import format_date
from theanine.types import LOCAL_MODEL, Memory, NewMemory, Session

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

STATEMENT_LIMIT = 600
"""Maximum characters of a merged statement; the prompt asks for 60 words."""
GROUPS_PER_CALL = 12
CONNECTIVE = "Changed to:"
"""What joins statements without a model."""


class Merged(BaseModel):
    """The model's statement for one group."""

    group: int = Field(description="the group's number")
    text: str = Field(description="the statement, third person")


class AllMerged(BaseModel):
    """The model's reply for several groups."""

    merged: list[Merged]


MERGE = load_prompt("theanine_methods.memory_update", "merge-memories", 1, AllMerged)


@dataclass(frozen=True, slots=True)
class Group:
    """A new statement with the older ones that it changes, oldest first."""

    older: tuple[Memory, ...]
    newer: NewMemory

    def dated_statements(self, session: Session) -> list[tuple[Memory | NewMemory, bool]]:
        """Return all statements, each with whether its time is a real time."""
        return [*((memory, memory.dated) for memory in self.older), (self.newer, session.dated)]


async def merge(
    groups: Sequence[Group],
    session: Session,
    chat: ScopedChat | None,
    *,
    source_sessions: Callable[[Sequence[Memory]], set[int]],
) -> list[str]:
    """Return the merged statement of each group, in order.

    ``session`` is that of the new statements; ``source_sessions`` returns the sessions that
    memories may quote. Without a model the statements are joined. Raises ModelError when the model
    fails.
    """
    if chat is None:
        return [local_merge(group, session) for group in groups]

    async def merge_batch(batch: Sequence[Group]) -> list[str]:
        older = [memory for group in batch for memory in group.older]
        reply = await chat.ask(
            MERGE,
            source_sessions=source_sessions(older) | {session.id},
            check=partial(_fault, len(batch)),
            bounds=ReplyBounds(
                50 + 200 * len(batch),
                {
                    "merged": {"minItems": len(batch), "maxItems": len(batch)},
                    "merged[].group": number_between(1, len(batch)),
                    "merged[].text": {"minLength": 1, "maxLength": STATEMENT_LIMIT},
                },
            ),
            groups="\n".join(
                f"[{number}] {day_label(memory.at, dated)}: {one_line(memory.text)}"
                for number, group in enumerate(batch, 1)
                for memory, dated in group.dated_statements(session)
            ),
        )
        texts = {merged.group: " ".join(merged.text.split()) for merged in reply.merged}
        return [texts[number] for number in range(1, len(batch) + 1)]

    batches = [groups[i : i + GROUPS_PER_CALL] for i in range(0, len(groups), GROUPS_PER_CALL)]
    replies = await gather([partial(merge_batch, batch) for batch in batches])
    return [text for reply in replies for text in reply]


def local_merge(group: Group, session: Session) -> str:
    """Join the statements; the new one alone if the result exceeds ``STATEMENT_LIMIT``."""
    statements: list[str] = []
    for memory, dated in group.dated_statements(session):
        text = " ".join(memory.text.split())
        if text[-1:].isalnum():
            text += "."
        if dated and memory.made_by != LOCAL_MODEL:  # a local statement names its date
            text = f"{format_date(memory.at)}: {text}"
        statements.append(text)
    joined = f" {CONNECTIVE} ".join(statements)
    return joined if len(joined) <= STATEMENT_LIMIT else group.newer.text


def _fault(count: int, reply: AllMerged) -> str | None:
    """Return what is wrong with a reply, or None."""
    numbers = sorted(merged.group for merged in reply.merged)
    if numbers != list(range(1, count + 1)):
        return f"one statement is wanted for each of the groups 1 to {count}, not for {numbers}"
    for merged in reply.merged:
        if not merged.text.strip():
            return f"the text of group {merged.group} is empty"
        if len(merged.text) > STATEMENT_LIMIT:
            return (
                f"the text of group {merged.group} is too long, "
                f"keep it under {STATEMENT_LIMIT} characters"
            )
    return None
