"""Which turns of a user are worth remembering: as noted with the replies, or asked afterwards.

Source: section 3.1 and appendix C.2 of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.gather import gather
from theanine.llm.prompt import load_prompt
from theanine.methods.conditional.local_decide import local_decide
from theanine.methods.conditional.showing import Call, in_windows
from theanine.text.numbering import format_numbered
from theanine.types import LOCAL_MODEL, Turn, Utterance

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

YES, NO = "yes", "no"
DECISIONS_PER_CALL = 400
"""Turns that one call decides about; its answer is a list of numbers."""
_WORTH, _OF, _BY = "worth", "of", "by"


class Worth(BaseModel):
    """The model's answer for a session's undecided turns."""

    worth: list[int] = Field(description="numbers of the turns worth remembering")


DECIDE = load_prompt("theanine.methods.conditional", "conditional-decide", 1, Worth)


def noted(worth: bool, said: Utterance, made_by: str) -> dict[str, str]:
    """A decision as the agent's logged turn keeps it: the time tells which turn it is about."""
    return {_WORTH: YES if worth else NO, _OF: _time(said), _BY: made_by}


def decisions(turns: Sequence[Turn]) -> dict[int, bool]:
    """What was decided with the replies, by turn id.

    What was decided without a model doesn't count: it never stands in for a model's decision, and
    without a model it is made again at no cost.
    """
    found: dict[int, bool] = {}
    for place, turn in enumerate(turns):
        worth = _decision(turn)
        if worth is None:
            continue
        users = [one for one in turns[:place] if one.role == "user"]
        about = [one for one in users if _time(one) == turn.notes.get(_OF, _time(one))]
        if about:
            found[about[-1].id] = worth == YES
    return found


def users_turns(turns: Sequence[Turn]) -> list[Turn]:
    """The turns that may be worth a record: a user's that say something."""
    return [turn for turn in turns if turn.role == "user" and turn.full_text.strip()]


async def decide(
    turns: Sequence[Turn],
    session: Sequence[Turn],
    caller: ScopedChat | None,
) -> list[Turn]:
    """Those of ``turns`` that are worth remembering, in order.

    ``session`` is the whole session that they stand in. Noted decisions hold; for the other turns
    the model is asked once (a very long session: once a window), or cues tell.
    Raises ModelError when the model fails or keeps answering unusably.
    """
    known: Mapping[int, bool] = decisions(turns)
    users = users_turns(turns)
    open_ones = {turn.id for turn in users if turn.id not in known}
    if caller is None:
        chosen = open_ones & local_decide(session)
    else:
        calls = [
            partial(_ask, call, caller)
            for call in in_windows(session, open_ones, DECISIONS_PER_CALL)
        ]
        chosen = {turn for answer in await gather(calls) for turn in answer}
    return [turn for turn in users if known.get(turn.id, turn.id in chosen)]


async def _ask(call: Call, caller: ScopedChat) -> set[int]:
    def check(answer: Worth) -> str | None:
        strange = sorted(set(answer.worth) - set(call.asked))
        return f"turns {strange} were not asked about, only {call.numbers}" if strange else None

    answer = await caller.ask(
        DECIDE,
        source_sessions=call.touches,
        check=check,
        turns=format_numbered(call.lines),
        asked=call.numbers,
    )
    return {call.asked[number].id for number in answer.worth}


def _decision(turn: Turn) -> str | None:
    worth = turn.notes.get(_WORTH)
    made = turn.role == "assistant" and turn.notes.get(_BY) != LOCAL_MODEL
    return worth if made and worth in (YES, NO) else None


def _time(said: Utterance) -> str:
    return said.at.astimezone(UTC).isoformat()
