"""Single turns as they were said, kept as memories beside what a method makes of them."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.text.formatting import dialogue_lines
from theanine.types import NewMemory, Turn

UTTERANCE = "utterance"
"""The kind of a memory that is one turn as it was said."""


def utterances_of(turns: Sequence[Turn]) -> list[NewMemory]:
    """A memory for each turn that has words."""
    return [
        NewMemory(
            text=dialogue_lines([turn]),
            at=turn.at,
            sources=(turn.id,),
            speakers=(turn.speaker,),
            kind=UTTERANCE,
        )
        for turn in turns
        if turn.words.strip()
    ]
