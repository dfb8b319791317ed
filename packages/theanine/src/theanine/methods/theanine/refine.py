"""Phase II, step 3: make one connected account of a timeline, for the dialogue at hand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from theanine.llm.prompt import load_step
from theanine.methods.theanine.local_refine import local_refine
from theanine.methods.theanine.shorten import told
from theanine.text.formatting import dialogue_lines, one_line, sessions_of, when
from theanine.types import Memory, Relation, Timeline, Utterance

if TYPE_CHECKING:
    from theanine.llm.chat import Caller

Step = tuple[Memory, Relation | None]
"""A statement with its relation to the one before it."""

REFINE = load_step("theanine.methods.theanine", "refine", 1, str)
MOST_STATEMENTS = 40
"""Statements of one path that the model is shown, unless it is shown the whole."""
WORDS_PER_STATEMENT = 30


async def refine(
    timeline: Timeline,
    dialogue: Sequence[Utterance],
    caller: Caller | None,
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
        left = told(timeline, dialogue, MOST_STATEMENTS)
        steps = [(step.memory, step.relation) for step in left]
    text = await caller.ask(
        REFINE,
        touches={memory.session for memory in timeline.memories} | sessions_of(dialogue),
        check=lambda reply: None if reply.strip() else "the account is empty",
        chain="\n".join(_chain(steps, undated)),
        most=str(min(150, 20 + WORDS_PER_STATEMENT * len(steps))),
        dialogue=dialogue_lines(dialogue) or "(nothing said yet)",
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
        + when(memory.at, memory.session, undated)
        + one_line(memory.text)
        for position, (memory, relation) in enumerate(steps)
    ]
