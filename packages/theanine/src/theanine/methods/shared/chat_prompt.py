"""The prompt of a reply as a chat: a system message, the turns in their roles, what was recalled.

What was recalled is in the newest user message only, after the user's own words. So the messages
before it are the same in the next request, and a provider's prompt cache can keep them.
"""

from __future__ import annotations

from collections.abc import Sequence

from theanine.fences import append_remembered
from theanine.llm.base import Message, MessageRole
from theanine.llm.bounds import ReplyBounds
from theanine.llm.prompt import load_prompt
from theanine.methods.base import ReplyOptions
from theanine.text.formatting import format_speaker
from theanine.types import CALLED, Recollection, Utterance

REPLY_TOKENS = 800
"""Tokens that bound a reply, unless the call or the model's settings say otherwise."""
RESPOND_CHAT = load_prompt("theanine.methods.shared", "respond", 2, str, ReplyBounds(REPLY_TOKENS))
INSTRUCTIONS = (
    "You are the assistant in this conversation. Answer the user's newest message, in its "
    "language, tone and length."
)
"""The system message's beginning where the application gives none; part of the prompt's version."""
NO_WORDS = "(The user has said nothing new.)"
"""Where a chat needs a user message and there is none: models want them to begin and to end it."""


def chat_messages(
    dialogue: Sequence[Utterance],
    recollection: Recollection,
    speaker: str,
    user: str,
    options: ReplyOptions,
) -> list[Message]:
    """Return the request for the next turn of ``speaker``.

    Turns of the same side are joined, as many models want the sides to alternate. ``user`` is the
    user's name where the dialogue has no turn of a user.
    """
    user = next((turn.speaker for turn in dialogue if turn.role == "user"), user)
    persona = f"\n\nWho you are: {options.persona.strip()}" if options.persona.strip() else ""
    system = RESPOND_CHAT.render(
        instructions=options.system.strip() or INSTRUCTIONS,
        persona=persona,
        user=format_speaker(user),
        speaker=format_speaker(speaker),
    )
    messages: list[Message] = []
    for turn in dialogue:
        role, text = _message(turn, user, speaker)
        if messages and messages[-1].role == role:
            messages[-1] = Message(role, f"{messages[-1].text}\n\n{text}")
        else:
            messages.append(Message(role, text))
    if not messages or messages[0].role == "assistant":
        messages.insert(0, Message("user", NO_WORDS))
    if messages[-1].role != "user":
        messages.append(Message("user", NO_WORDS))
    newest = append_remembered(messages[-1].text, [part.text for part in recollection.parts])
    return [Message("system", system), *messages[:-1], Message("user", newest)]


def _message(turn: Utterance, user: str, speaker: str) -> tuple[MessageRole, str]:
    """Return the role and the words of a turn: a tool's are the assistant's calls or results."""
    match turn.role:
        case "system":
            return "system", turn.full_text
        case "tool" if turn.text.startswith(CALLED):
            return "assistant", turn.full_text
        case "tool":
            return "user", f"[result of a tool]\n{turn.full_text}"
        case "user" | "assistant" as role:
            name = turn.speaker if turn.speaker != (user if role == "user" else speaker) else ""
            return role, f"{format_speaker(name)}: {turn.full_text}" if name else turn.full_text
