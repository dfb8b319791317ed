"""The prompt of a reply as a chat: a system message, the turns in their roles, what was recalled.

What was recalled is in the newest user message only, after the user's own words. So the messages
before it are the same in the next request, and a provider's prompt cache can keep them.
"""

from __future__ import annotations

from collections.abc import Sequence

from theanine.fences import append_remembered
from theanine.llm.base import Message, MessageRole, ToolCall
from theanine.llm.bounds import ReplyBounds
from theanine.llm.prompt import load_prompt
from theanine.messages import without_unpaired
from theanine.messages.parts import call_arguments, is_result, read_call, read_result
from theanine.methods.base import ReplyOptions
from theanine.text.formatting import format_speaker
from theanine.types import CALLED, Recollection, Utterance

REPLY_TOKENS = 800
"""Tokens that bound a reply, unless the call or the model's settings say otherwise."""
RESPOND_CHAT = load_prompt("theanine.methods.shared", "respond", 3, str, ReplyBounds(REPLY_TOKENS))
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
    options: ReplyOptions,
) -> list[Message]:
    """Return the request for the next turn of ``speaker``.

    Turns of the same side are joined, as many models want the sides to alternate. Calls of tools
    and their results are in the API's form where tools are offered, as only then all models take
    them, and else in words. There is one system message, with the application's instructions and
    those of the dialogue, and no name of a person in it: these may come from anywhere.
    """
    user = next((turn.speaker for turn in dialogue if turn.role == "user"), "")
    persona = f"\n\nWho you are: {options.persona.strip()}" if options.persona.strip() else ""
    logged = [turn.full_text.strip() for turn in dialogue if turn.role == "system"]
    instructions = dict.fromkeys(filter(None, [options.system.strip(), *logged]))
    system = RESPOND_CHAT.render(
        instructions="\n\n".join(instructions) or INSTRUCTIONS,
        persona=persona,
        speaker=format_speaker(speaker),
    )
    messages: list[Message] = []
    spoken = [turn for turn in dialogue if turn.role != "system"]
    paired = without_unpaired(spoken, pending=False) if options.request.tools else []
    native = {id(turn) for turn in paired}
    calls: dict[str, ToolCall] = {}
    for turn in spoken:
        if turn.role == "tool" and id(turn) in native:
            new = _tool_messages(turn, calls)
        else:
            new = [Message(*_message(turn, user, speaker))]
        for message in new:
            if messages and messages[-1].role == message.role != "tool":
                message = _join(messages.pop(), message)
            messages.append(message)
    if not messages or messages[0].role != "user":
        messages.insert(0, Message("user", NO_WORDS))
    if messages[-1].role == "assistant":
        messages.append(Message("user", NO_WORDS))
    newest = max(at for at, message in enumerate(messages) if message.role == "user")
    words = append_remembered(messages[newest].text, recollection.items)
    messages[newest] = Message("user", words)
    return [Message("system", system), *messages]


def _tool_messages(turn: Utterance, calls: dict[str, ToolCall]) -> list[Message]:
    """Return the calls and results of a turn; ``calls`` are those so far, by id."""
    messages: list[Message] = []
    for part in turn.content:
        if is_result(part):
            id_, text = read_result(part)
            messages.append(Message("tool", text, result_of=calls[id_]))
        else:
            id_, name, arguments = read_call(part)
            calls[id_] = ToolCall(id=id_, name=name, arguments=call_arguments(arguments))
            messages.append(Message("assistant", "", (calls[id_],)))
    return messages


def _join(earlier: Message, later: Message) -> Message:
    text = "\n\n".join(filter(None, [earlier.text, later.text]))
    return Message(earlier.role, text, earlier.tool_calls + later.tool_calls)


def _message(turn: Utterance, user: str, speaker: str) -> tuple[MessageRole, str]:
    """Return the role and the words of a turn: a tool's are the assistant's calls or results."""
    if turn.role == "tool":
        if turn.text.startswith(CALLED):
            return "assistant", turn.full_text
        return "user", f"[result of a tool]\n{turn.full_text}"
    role: MessageRole = "assistant" if turn.role == "assistant" else "user"
    name = turn.speaker if turn.speaker != (user if role == "user" else speaker) else ""
    return role, f"{format_speaker(name)}: {turn.full_text}" if name else turn.full_text
