"""Reply and decide in one call: the reply, and whether the user's turn is worth a record.

Source: section 3.1 and appendix C.2 (table 17).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from theanine.llm.base import ReplyPrompt
from theanine.llm.bounds import ReplyBounds
from theanine.llm.prompt import load_prompt
from theanine.llm.published import find_labeled
from theanine.methods.base import Context, Reply
from theanine.methods.shared.respond import REPLY_LIMIT, REPLY_TOKENS, ask_reply, reply
from theanine.types import LOCAL_MODEL, Part, Recollection, Turn, Utterance
from theanine_methods.conditional.config import CONDITIONAL
from theanine_methods.conditional.decide import YES, decision_notes, local_decide

if TYPE_CHECKING:
    from theanine.llm.chat import ScopedChat


class Decided(BaseModel):
    """The model's reply, with the decision about the turn that it answers."""

    response: str = Field(description="the words to say")
    worth: Literal["yes", "no"] = Field(description="whether the last turn is worth remembering")


def _published(reply: str, _: Mapping[str, str]) -> dict[str, str]:
    fields = find_labeled(reply, {"response": "Respond", "worth": "Decision"})
    return {**fields, "worth": fields["worth"].strip(" .\"'*").casefold()}


REPLY = load_prompt(
    "theanine_methods.conditional",
    "conditional-reply",
    1,
    Decided,
    ReplyBounds(REPLY_TOKENS, {"response": {"minLength": 1, "maxLength": REPLY_LIMIT}}),
    published=_published,
)


async def reply_and_decide(
    dialogue: Sequence[Utterance],
    recollection: Recollection,
    speaker: str,
    context: Context,
    *,
    prompt: ReplyPrompt,
) -> Reply:
    """Reply as ``speaker``; the reply's notes hold the decision about the last turn.

    Without a user's turn to decide about, it is a plain reply. So is one that is streamed or has
    the options of a chat; then the decision is made when the session is remembered. Raises
    ModelError when the model fails.
    """
    if not dialogue or dialogue[-1].role != "user" or not dialogue[-1].full_text.strip():
        return await plain_reply(dialogue, recollection, speaker, context, prompt=prompt)
    if context.chat is not None:
        replying = context.replying
        if replying.prompt == "chat" or replying.stream or replying.for_chat:
            return await reply(dialogue, recollection, speaker, context, prompt=prompt)
        return await model_reply_and_decide(dialogue, recollection, speaker, context.chat)
    local = await plain_reply(dialogue, recollection, speaker, context, prompt=prompt)
    turns = [_as_turn(utterance, number) for number, utterance in enumerate(dialogue, 1)]
    worth = turns[-1].id in local_decide(turns)
    return replace(local, notes=decision_notes(worth, dialogue[-1], LOCAL_MODEL))


async def plain_reply(
    dialogue: Sequence[Utterance],
    recollection: Recollection,
    speaker: str,
    context: Context,
    *,
    prompt: ReplyPrompt,
) -> Reply:
    """Reply without a decision.

    A local reply quotes the recorded turn itself, not the turn of its context.
    """
    if context.chat is not None:
        return await reply(dialogue, recollection, speaker, context, prompt=prompt)
    parts = tuple(map(_with_own_source, recollection.parts))
    local = await reply(dialogue, replace(recollection, parts=parts), speaker, context)
    return replace(local, recollection=recollection)


async def model_reply_and_decide(
    dialogue: Sequence[Utterance], recollection: Recollection, speaker: str, chat: ScopedChat
) -> Reply:
    """Ask the model for the reply and the decision in one call. Raises ModelError."""
    answer = await ask_reply(
        REPLY,
        dialogue,
        recollection,
        speaker,
        chat,
        check=lambda decided: None if decided.response.strip() else "the response is empty",
    )
    return Reply(
        text=answer.response.strip(),
        recollection=recollection,
        made_by=chat.model,
        notes=decision_notes(answer.worth == YES, dialogue[-1], chat.model),
    )


def _with_own_source(part: Part) -> Part:
    if part.is_profile:
        return part
    (memory,) = part.memories
    own = [turn for turn in part.source_turns if turn.speaker in memory.speakers]
    if memory.kind != CONDITIONAL or not own:
        return part
    return replace(part, source_turns=(own[-1],))


def _as_turn(utterance: Utterance, number: int) -> Turn:
    """Return an utterance that may not be in the log yet as a turn."""
    values = {field.name: getattr(utterance, field.name) for field in fields(Utterance)}
    return Turn(**values, id=number, session=0)
