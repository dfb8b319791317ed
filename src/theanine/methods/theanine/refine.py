"""Phase II, step 3: make one connected account of a timeline, for the dialogue at hand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from theanine.conversation import Utterance
from theanine.memory import Timeline
from theanine.methods.theanine.local_refine import local_refine
from theanine.methods.theanine.shorten import told
from theanine.models.step import load_step
from theanine.steps.quoting import dialogue_lines, one_line, sessions_of, when

if TYPE_CHECKING:
    from theanine.models.chat import Caller

REFINE = load_step("theanine.methods.theanine", "refine", 1, str)
MOST_STATEMENTS = 40
"""Statements of one path that the model is shown."""
WORDS_PER_STATEMENT = 30


async def refine(
    timeline: Timeline,
    dialogue: Sequence[Utterance],
    caller: Caller | None,
    *,
    undated: Collection[int] = (),
) -> str:
    """One connected account of the timeline, redundant parts dropped, useful parts stressed.

    ``undated`` are sessions whose dates are not shown. Without a caller the local version works.
    Raises ModelError when the model fails or answers nothing.
    """
    if caller is None:
        return local_refine(timeline, dialogue, undated)
    steps = told(timeline, dialogue, MOST_STATEMENTS)
    lines: list[str] = []
    for position, step in enumerate(steps):
        arrow = f"—{step.relation or 'Then'}→ " if position else ""
        date = when(step.memory.at, step.memory.session, undated)
        lines.append(f"{arrow}{date}{one_line(step.memory.text)}")
    text = await caller.ask(
        REFINE,
        touches={memory.session for memory in timeline.memories} | sessions_of(dialogue),
        check=lambda reply: None if reply.strip() else "the account is empty",
        chain="\n".join(lines),
        most=str(min(150, 20 + WORDS_PER_STATEMENT * len(steps))),
        dialogue=dialogue_lines(dialogue) or "(nothing said yet)",
    )
    return text.strip()
