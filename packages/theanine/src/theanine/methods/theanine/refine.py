"""Phase II, step 3: turn a timeline into one coherent account for the current dialogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from theanine.llm.bounds import ReplyBounds
from theanine.llm.prompt import load_prompt
from theanine.methods.shared.provenance import dialogue_sessions
from theanine.methods.theanine.limit_statements import (
    MAX_LOCAL_STATEMENTS,
    MAX_PROMPT_STATEMENTS,
    SelectedStatement,
    select_statements,
)
from theanine.recall.relation_notes import RELATION_NOTES
from theanine.text.attribution import memory_text
from theanine.text.formatting import format_day, format_dialogue, one_line
from theanine.text.words import format_date
from theanine.types import LOCAL_MODEL, Relation, Timeline, Utterance

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

REFINE = load_prompt("theanine.methods.theanine", "refine", 1, str)
REFINE_WHOLE = load_prompt("theanine.methods.theanine", "refine", 2, str)
"""The same without a length, for whole timelines (the paper)."""
WORDS_PER_STATEMENT = 30
TOKENS_PER_WORD = 3
"""Tokens that bound a word of the account, in any language."""
WHOLE_TOKENS = 2_048
"""Tokens that bound an account without a length, as in the authors' program."""

CONNECTIVES: dict[Relation | None, str] = {
    relation: f"{words[0].upper()}{words[1:]}:"
    for relation, words in {
        **RELATION_NOTES,
        Relation.SAME_TOPIC: "on the same matter",
        None: "later",
    }.items()
}
"""The only words of a local account that are not from a memory."""


async def refine(
    timeline: Timeline,
    dialogue: Sequence[Utterance],
    chat: ScopedChat | None,
    *,
    whole: bool = False,
) -> str:
    """Return one account of the timeline, without what is redundant for the dialogue.

    The model is shown the ``whole`` timeline and asked for no length, or its selected statements.
    Without a model, :func:`local_refine` is used. Raises ModelError when the model fails or its
    account is empty.
    """
    if chat is None:
        return local_refine(timeline, dialogue)
    if whole:
        step, tokens = REFINE_WHOLE, WHOLE_TOKENS
        statements, most = _statements(timeline), 0
    else:
        step = REFINE
        statements = select_statements(timeline, dialogue, MAX_PROMPT_STATEMENTS)
        most = min(150, 20 + WORDS_PER_STATEMENT * len(statements))
        tokens = 50 + TOKENS_PER_WORD * most
    return await chat.ask(
        step,
        bounds=ReplyBounds(tokens),
        source_sessions={memory.session for memory in timeline.memories}
        | dialogue_sessions(dialogue),
        chain="\n".join(_chain(statements)),
        path=_path(statements),
        most=str(most),
        dialogue=format_dialogue(dialogue) or "(nothing said yet)",
    )


def local_refine(timeline: Timeline, dialogue: Sequence[Utterance]) -> str:
    """Join the selected statements, at most ``MAX_LOCAL_STATEMENTS``, by fixed connectives."""
    pieces: list[str] = []
    for statement in select_statements(timeline, dialogue, MAX_LOCAL_STATEMENTS):
        if pieces:
            pieces.append(CONNECTIVES[statement.relation])
        memory = statement.memory
        text = " ".join(memory_text(memory).split())
        if text[-1:].isalnum():
            text += "."
        if memory.made_by != LOCAL_MODEL and memory.dated:  # a local memory includes its date
            text = f"{format_date(memory.at)}: {text}"
        pieces.append(text)
    return " ".join(pieces)


def format_timeline(timeline: Timeline) -> str:
    """Return all statements with dates and relations on one line (ablation without refinement)."""
    return " ".join(_chain(_statements(timeline)))


def _statements(timeline: Timeline) -> list[SelectedStatement]:
    relations = [None, *(link.relation for link in timeline.links)]
    return list(map(SelectedStatement, timeline.memories, relations))


def _path(statements: Sequence[SelectedStatement]) -> str:
    """Format as the paper's prompt does: ``[statement] - (Relation) - [statement]``."""
    return " - ".join(
        (f"({statement.relation or 'Then'}) - " if position else "")
        + f"[{one_line(statement.memory.text)}]"
        for position, statement in enumerate(statements)
    )


def _chain(statements: Sequence[SelectedStatement]) -> list[str]:
    """Format as ``(8 May 2023) statement``, each but the first after ``—Relation→``."""
    return [
        (f"—{statement.relation or 'Then'}→ " if position else "")
        + format_day(statement.memory.at, statement.memory.dated)
        + one_line(statement.memory.text)
        for position, statement in enumerate(statements)
    ]
