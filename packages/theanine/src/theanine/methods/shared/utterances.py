"""Single turns as they were said, kept as memories beside what a method makes of them."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.text.formatting import format_dialogue
from theanine.types import NewMemory, Turn

UTTERANCE = "utterance"
"""The kind of a memory that is one turn as it was said."""


def utterance_memories(turns: Sequence[Turn]) -> list[NewMemory]:
    """A memory for each turn that has words."""
    return [
        NewMemory(
            text=format_dialogue([turn]),
            at=turn.at,
            source_turns=(turn.id,),
            speakers=(turn.speaker,),
            kind=UTTERANCE,
        )
        for turn in turns
        if turn.full_text.strip()
    ]
