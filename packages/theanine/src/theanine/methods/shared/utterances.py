"""Single turns kept verbatim as memories."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.text.formatting import format_dialogue
from theanine.types import NewMemory, Turn

UTTERANCE = "utterance"
"""The kind of a memory that is one verbatim turn."""


def utterance_memories(turns: Sequence[Turn]) -> list[NewMemory]:
    """Return a memory for each nonempty turn."""
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
