"""Refine a timeline without a language model: its own statements, joined by fixed connectives."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from theanine.methods.theanine.shorten import SelectedStatements, select_statements
from theanine.text.words import format_date
from theanine.types import LOCAL_MODEL, Relation, Timeline, Utterance

CONNECTIVES: dict[Relation | None, str] = {
    Relation.CHANGED: "This changed:",
    Relation.CAUSE: "This led to:",
    Relation.REASON: "The reason:",
    Relation.HINDERED_BY: "This stood in the way:",
    Relation.REACT: "The feeling after that:",
    Relation.WANT: "The wish after that:",
    Relation.SAME_TOPIC: "On the same matter:",
    None: "Later:",
}
"""What joins a statement to the one before it; the only words that are not from a memory."""

MOST_STATEMENTS = 8


def local_refine(
    timeline: Timeline, dialogue: Sequence[Utterance], undated: Collection[int] = ()
) -> str:
    """The path in order, near-duplicates dropped, at most ``MOST_STATEMENTS`` of a long one."""
    pieces: list[str] = []
    for one in select_statements(timeline, dialogue, MOST_STATEMENTS):
        if pieces:
            pieces.append(CONNECTIVES[one.relation])
        pieces.append(_statement(one, undated))
    return " ".join(pieces)


def _statement(one: SelectedStatements, undated: Collection[int]) -> str:
    text = " ".join(one.memory.text.split())
    if text[-1:].isalnum():
        text += "."
    if one.memory.made_by == LOCAL_MODEL or one.memory.session in undated:
        return text  # a local memory names its date itself; an undated one has none to name
    return f"{format_date(one.memory.at)}: {text}"
