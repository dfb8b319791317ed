"""Make a record of each turn that is worth one: its context, and what it tells.

Source: section 3.1 and appendix C.2 of the paper.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from theanine.llm.gather import gather
from theanine.llm.prompt import load_prompt
from theanine.methods.conditional.config import CONDITIONAL, ConditionalConfig
from theanine.methods.conditional.draft import Draft
from theanine.methods.conditional.local_record import local_records
from theanine.methods.conditional.showing import Call, in_windows, one_by_one
from theanine.text.formatting import format_speaker, one_line
from theanine.text.numbering import format_numbered
from theanine.types import LOCAL_MODEL, NewMemory, Turn

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat

RECORDS_PER_CALL = 24
"""Records that one call is asked for; a session with more takes several calls."""
LONGEST_FIELD = 600
"""Characters; the prompt asks for 50 words at most."""


class Record(BaseModel):
    """One record, as the model words it."""

    turn: int = Field(description="number of the turn")
    related: list[int] = Field(description="numbers of the turns that the context rests on")
    context: str = Field(description="why the speaker said it")
    knowledge: str = Field(description="a note for later")


class Records(BaseModel):
    """The model's answer: one record for each turn that was asked about."""

    records: list[Record]


RECORD = load_prompt("theanine.methods.conditional", "conditional-record", 1, Records)


async def record(
    turns: Sequence[Turn],
    session: Sequence[Turn],
    caller: ScopedChat | None,
    config: ConditionalConfig,
) -> list[NewMemory]:
    """One memory for each of ``turns``, in order, with the parts that ``config`` leaves in.

    ``session`` is the whole session that they stand in. Its sources are the turn and, if the
    context is kept, the turns that it rests on.
    Raises ModelError when the model fails or keeps answering unusably.
    """
    if caller is None:
        return [_memory(draft, config, LOCAL_MODEL, "") for draft in local_records(turns, session)]
    ids = {turn.id for turn in turns}
    if config.recording == "turn":
        wanted = one_by_one(session, ids)
    else:
        wanted = in_windows(session, ids, RECORDS_PER_CALL)
    calls = [partial(_ask, call, caller) for call in wanted]
    made = {draft.turn.id: draft for drafts in await gather(calls) for draft in drafts}
    return [_memory(made[turn.id], config, caller.model, RECORD.label) for turn in turns]


async def _ask(call: Call, caller: ScopedChat) -> list[Draft]:
    shown = call.shown
    answer = await caller.ask(
        RECORD,
        source_sessions=call.touches,
        check=partial(_fault, list(call.asked), shown.keys()),
        turns=format_numbered(call.lines),
        asked=call.numbers,
    )
    return [
        Draft(
            turn=shown[one.turn],
            related=tuple(shown[n] for n in sorted(set(one.related) - {one.turn})),
            context=one_line(one.context),
            knowledge=one_line(one.knowledge),
        )
        for one in answer.records
    ]


def _fault(asked: Sequence[int], shown: Collection[int], answer: Records) -> str | None:
    """What is wrong with the records, in words; None when nothing is."""
    given = [one.turn for one in answer.records]
    if missing := sorted(set(asked) - set(given)):
        return f"there is no record of turns {missing}"
    if strange := sorted(set(given) - set(asked)):
        return f"turns {strange} were not asked about, only {list(asked)}"
    if doubled := sorted({number for number in given if given.count(number) > 1}):
        return f"there is more than one record of turns {doubled}"
    for one in answer.records:
        if wrong := sorted(set(one.related) - set(shown)):
            return f"record of turn {one.turn}: the related turns {wrong} were not shown"
        for name, text in (("context", one.context), ("knowledge", one.knowledge)):
            if not text.strip():
                return f"record of turn {one.turn}: its {name} is empty"
            if len(text) > LONGEST_FIELD:
                return (
                    f"record of turn {one.turn}: keep its {name} under {LONGEST_FIELD} characters"
                )
    return None


def _memory(draft: Draft, config: ConditionalConfig, made_by: str, prompt: str) -> NewMemory:
    kept = (draft.turn, *(draft.related if config.context else ()))
    return NewMemory(
        text=_text(draft, config),
        at=max(turn.at for turn in kept),
        source_turns=tuple(sorted({turn.id for turn in kept})),
        speakers=(draft.turn.speaker,),
        kind=CONDITIONAL,
        made_by=made_by,
        prompt=prompt,
    )


def _text(draft: Draft, config: ConditionalConfig) -> str:
    """``Context: … Knowledge (Ana): …``: both parts are embedded together."""
    speaker = format_speaker(draft.turn.speaker)
    if not config.knowledge:  # a record says something even where no context shows
        return f"Context ({speaker}): {draft.context or draft.knowledge}"
    context = f"Context: {draft.context} " if config.context and draft.context else ""
    return f"{context}Knowledge ({speaker}): {draft.knowledge}"
