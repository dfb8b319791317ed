"""Group a session's turns into exchanges: what one side says, and the answer to it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

from theanine.types import Utterance

U = TypeVar("U", bound=Utterance)


def exchanges(turns: Sequence[U]) -> list[list[U]]:
    """Runs of turns, each from the opening side's words to the end of the answers to them.

    The opening side is whoever spoke first; with roles on both sides it is the user. Contiguous,
    covering, in order.
    """
    if not turns:
        return []
    roles = {turn.role for turn in turns}
    opening = turns[0].speaker

    def opens(turn: U) -> bool:
        return turn.role == "user" if len(roles) > 1 else turn.speaker == opening

    found = [[turns[0]]]
    for before, turn in pairwise(turns):
        if opens(turn) and not opens(before):
            found.append([turn])
        else:
            found[-1].append(turn)
    return found
