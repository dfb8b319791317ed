"""Reply and decide in one call: what the agent says, and whether the user's turn is worth a record.

Source: section 3.1 and appendix C.2 of the paper (table 17).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from theanine.llm.prompt import load_prompt
from theanine.methods.base import Context, Reply
from theanine.methods.conditional.config import CONDITIONAL
from theanine.methods.conditional.decide import YES, noted
from theanine.methods.conditional.local_decide import local_decide
from theanine.methods.shared.respond import reply
from theanine.text.formatting import dialogue_sessions, format_dialogue, format_speaker, one_line
from theanine.types import LOCAL_MODEL, Part, Recollection, Turn, Utterance

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat


class Decided(BaseModel):
    """A reply, and the decision about the turn that it answers."""

    response: str = Field(description="the words to say")
    worth: Literal["yes", "no"] = Field(description="whether the last turn is worth remembering")


REPLY = load_prompt("theanine.methods.conditional", "conditional-reply", 1, Decided)


async def reply_and_decide(
    dialogue: Sequence[Utterance], recollection: Recollection, speaker: str, context: Context
) -> Reply:
    """What ``speaker`` says next; its notes hold the decision about the dialogue's last turn.

    Where that is no user's turn there is nothing to decide. Raises ModelError when the model fails.
    """
    if not dialogue or dialogue[-1].role != "user" or not dialogue[-1].full_text.strip():
        return await plain_reply(dialogue, recollection, speaker, context)
    if context.chat is not None:
        return await ask_for_both(dialogue, recollection, speaker, context.chat)
    said = await plain_reply(dialogue, recollection, speaker, context)
    turns = [_numbered(one, number) for number, one in enumerate(dialogue, 1)]
    worth = turns[-1].id in local_decide(turns)
    return replace(said, notes=noted(worth, dialogue[-1], LOCAL_MODEL))


async def plain_reply(
    dialogue: Sequence[Utterance], recollection: Recollection, speaker: str, context: Context
) -> Reply:
    """What ``speaker`` says next, without a decision. Without a model, of a record the turn that
    it is of is quoted, not what that turn answered.
    """
    if context.chat is not None:
        return await reply(dialogue, recollection, speaker, context)
    quotable = replace(recollection, parts=tuple(map(_of_itself, recollection.parts)))
    said = await reply(dialogue, quotable, speaker, context)
    return replace(said, recollection=recollection)


def _of_itself(part: Part) -> Part:
    (memory,) = part.memories
    own = [turn for turn in part.source_turns if turn.speaker in memory.speakers]
    return (
        replace(part, source_turns=tuple(own[-1:])) if memory.kind == CONDITIONAL and own else part
    )


async def ask_for_both(
    dialogue: Sequence[Utterance], recollection: Recollection, speaker: str, caller: ScopedChat
) -> Reply:
    """The reply and the decision about the last turn, in one call. Raises ModelError."""
    touches = {memory.session for memory in recollection.memories} | dialogue_sessions(dialogue)
    touches |= {turn.session for turn in recollection.source_turns}
    remembered = "\n".join(f"- {one_line(part.text)}" for part in recollection.parts)
    answer = await caller.ask(
        REPLY,
        source_sessions=touches,
        check=lambda given: None if given.response.strip() else "the response is empty",
        speaker=format_speaker(speaker),
        remembered=remembered or "(nothing)",
        dialogue=format_dialogue(dialogue),
    )
    return Reply(
        text=answer.response.strip(),
        recollection=recollection,
        made_by=caller.model,
        notes=noted(answer.worth == YES, dialogue[-1], caller.model),
    )


def _numbered(said: Utterance, number: int) -> Turn:
    """An utterance of the dialogue at hand as a turn: it need not be in the log yet."""
    return Turn(
        id=number,
        session=0,
        text=said.text,
        speaker=said.speaker,
        at=said.at,
        role=said.role,
        attachment=said.attachment,
        recalled=said.recalled,
    )
