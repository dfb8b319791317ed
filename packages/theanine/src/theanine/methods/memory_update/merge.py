"""One statement for what was and what it has become: by a model, or joined locally."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.gather import gather
from theanine.llm.prompt import load_prompt
from theanine.text.formatting import day_label, one_line
from theanine.text.words import format_date
from theanine.types import LOCAL_MODEL, Memory, NewMemory

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

LONGEST = 600
"""Characters of a merged statement; the prompt asks for 60 words."""
GROUPS_PER_CALL = 12
CONNECTIVE = "This changed:"
"""What the local version puts between two statements; the only words that are not theirs."""


class Merged(BaseModel):
    """The model's statement for one group."""

    group: int = Field(description="the group's number")
    text: str = Field(description="the statement, third person")


class AllMerged(BaseModel):
    """The model's answer for several groups."""

    merged: list[Merged]


MERGE = load_prompt("theanine.methods.memory_update", "merge-memories", 1, AllMerged)


@dataclass(frozen=True, slots=True)
class Group:
    """A new statement with the older ones that it changes, oldest first."""

    older: tuple[Memory, ...]
    newer: NewMemory


async def merge(
    groups: Sequence[Group],
    session: int,
    caller: ScopedChat | None,
    *,
    behind: Callable[[Sequence[Memory]], set[int]],
    undated: Collection[int] = (),
) -> list[str]:
    """The merged statement of each group, in order; ``session`` is where the new ones come from.

    ``behind`` gives the sessions whose words memories may hold. Without a caller the statements
    are joined as they are. Raises ModelError when the model fails or keeps answering unusably.
    """
    if caller is None:
        return [local_merge(group, session, undated) for group in groups]

    async def ask(some: Sequence[Group]) -> list[str]:
        answer = await caller.ask(
            MERGE,
            source_sessions=behind([memory for group in some for memory in group.older])
            | {session},
            check=partial(_fault, len(some)),
            groups=_lines(some, session, undated),
        )
        texts = {one.group: " ".join(one.text.split()) for one in answer.merged}
        return [texts[number] for number in range(1, len(some) + 1)]

    step = GROUPS_PER_CALL
    batches = [groups[i : i + step] for i in range(0, len(groups), step)]
    answers = await gather([partial(ask, batch) for batch in batches])
    return [text for answer in answers for text in answer]


def local_merge(group: Group, session: int, undated: Collection[int] = ()) -> str:
    """The statements joined as they are; the new one alone where that passes ``LONGEST``."""
    pieces = [_statement(memory, memory.session, undated) for memory in group.older]
    pieces.append(_statement(group.newer, session, undated))
    joined = f" {CONNECTIVE} ".join(pieces)
    return joined if len(joined) <= LONGEST else group.newer.text


def _statement(memory: Memory | NewMemory, session: int, undated: Collection[int]) -> str:
    text = " ".join(memory.text.split())
    if text[-1:].isalnum():
        text += "."
    if memory.made_by == LOCAL_MODEL or session in undated:
        return text  # a local memory names its date itself; an undated one has none to name
    return f"{format_date(memory.at)}: {text}"


def _lines(groups: Sequence[Group], session: int, undated: Collection[int]) -> str:
    """``[1] 8 May 2023: statement``, the newest of a group last."""
    lines: list[str] = []
    for number, group in enumerate(groups, 1):
        for memory, whence in [*((m, m.session) for m in group.older), (group.newer, session)]:
            date = day_label(memory.at, whence not in undated)
            lines.append(f"[{number}] {date}: {one_line(memory.text)}")
    return "\n".join(lines)


def _fault(count: int, answer: AllMerged) -> str | None:
    """What is wrong with an answer, in words; None when nothing is."""
    given = sorted(one.group for one in answer.merged)
    if given != list(range(1, count + 1)):
        return f"one statement is wanted for each of the groups 1 to {count}, not for {given}"
    for one in answer.merged:
        if not one.text.strip():
            return f"the text of group {one.group} is empty"
        if len(one.text) > LONGEST:
            return f"the text of group {one.group} is too long, keep it under {LONGEST} characters"
    return None
