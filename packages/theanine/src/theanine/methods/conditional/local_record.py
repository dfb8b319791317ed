"""Record without a language model: the words that disclose, and the words that they answered."""

from __future__ import annotations

from collections.abc import Sequence

from theanine.methods.conditional.draft import Draft
from theanine.summarization import local_summarize
from theanine.text.attribution import without_attribution
from theanine.text.formatting import NO_MODEL_NOTICE, format_speaker, one_line
from theanine.types import Turn

LONGEST_CONTEXT = 200
"""Characters that are quoted of the turn before."""
LONGEST_KNOWLEDGE = 400
"""Characters that are quoted of a turn none of whose sentences stands out."""
_BACK = 2
"""How many turns back the context is looked for."""


def local_records(turns: Sequence[Turn], session: Sequence[Turn]) -> list[Draft]:
    """One record for each of ``turns``, in order, all in quotation marks.

    ``session`` is the whole session that they stand in.
    """
    places = {turn.id: place for place, turn in enumerate(session)}
    drafts: list[Draft] = []
    for turn in turns:
        before = _before(session, places[turn.id])
        drafts.append(
            Draft(
                turn=turn,
                related=() if before is None else (before,),
                context="" if before is None else _quoted(before),
                knowledge=_knowledge(turn),
            )
        )
    return drafts


def _knowledge(turn: Turn) -> str:
    """The sentences that disclose something; of a turn that has none, its beginning."""
    told = [without_attribution(memory.text) for memory in local_summarize([turn])]
    return one_line(" … ".join(told)) or f"“{one_line(turn.full_text, LONGEST_KNOWLEDGE)}”"


def _before(session: Sequence[Turn], place: int) -> Turn | None:
    """The nearest turn before that is no mere repetition of what was recalled."""
    near = reversed(session[max(0, place - _BACK) : place])
    return next((turn for turn in near if turn.full_text.strip() and not _repeats(turn)), None)


def _repeats(turn: Turn) -> bool:
    return turn.role == "assistant" and (bool(turn.recalled) or NO_MODEL_NOTICE in turn.text)


def _quoted(turn: Turn) -> str:
    return f"{format_speaker(turn.speaker)}: “{one_line(turn.full_text, LONGEST_CONTEXT)}”"
