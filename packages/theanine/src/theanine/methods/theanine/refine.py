"""Phase II, step 3: make one connected account of a timeline, for the dialogue at hand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from theanine.llm.prompt import load_prompt
from theanine.methods.theanine.local_refine import local_refine
from theanine.methods.theanine.shorten import select_statements
from theanine.text.formatting import dialogue_sessions, format_day, format_dialogue, one_line
from theanine.types import Memory, Relation, Timeline, Utterance

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

Step = tuple[Memory, Relation | None]
"""A statement with its relation to the one before it."""

REFINE = load_prompt("theanine.methods.theanine", "refine", 1, str)
MOST_STATEMENTS = 40
"""Statements of one path that the model is shown, unless it is shown the whole."""
WORDS_PER_STATEMENT = 30


async def refine(
    timeline: Timeline,
    dialogue: Sequence[Utterance],
    caller: ScopedChat | None,
    *,
    undated: Collection[int] = (),
    whole: bool = False,
) -> str:
    """One connected account of the timeline, redundant parts dropped, useful parts stressed.

    The model is shown the ``whole`` timeline, or what :func:`told` leaves of it. ``undated`` are
    sessions whose dates are not shown. Without a caller the local version works. Raises ModelError
    when the model fails or answers nothing.
    """
    if caller is None:
        return local_refine(timeline, dialogue, undated)
    steps = _whole(timeline)
    if not whole:
        left = select_statements(timeline, dialogue, MOST_STATEMENTS)
        steps = [(step.memory, step.relation) for step in left]
    text = await caller.ask(
        REFINE,
        source_sessions={memory.session for memory in timeline.memories}
        | dialogue_sessions(dialogue),
        check=lambda reply: None if reply.strip() else "the account is empty",
        chain="\n".join(_chain(steps, undated)),
        most=str(min(150, 20 + WORDS_PER_STATEMENT * len(steps))),
        dialogue=format_dialogue(dialogue) or "(nothing said yet)",
    )
    return text.strip()


def raw(timeline: Timeline, *, undated: Collection[int] = ()) -> str:
    """The timeline as it is, on one line: every statement with its date and its relation.

    What is handed over where refining is switched off (ablation "without refinement").
    """
    return " ".join(_chain(_whole(timeline), undated))


def _whole(timeline: Timeline) -> list[Step]:
    relations = [None, *(link.relation for link in timeline.links)]
    return list(zip(timeline.memories, relations, strict=True))


def _chain(steps: Sequence[Step], undated: Collection[int]) -> list[str]:
    """``(8 May 2023) statement``, and each after the first behind ``—Relation→``."""
    return [
        (f"—{relation or 'Then'}→ " if position else "")
        + format_day(memory.at, memory.dated)
        + one_line(memory.text)
        for position, (memory, relation) in enumerate(steps)
    ]
