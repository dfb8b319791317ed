"""Messages as utterances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from types import MappingProxyType

from theanine.errors import BadInput
from theanine.fences import without_remembered
from theanine.messages.parts import (
    TEXTS,
    as_message,
    content_parts,
    part_kind,
    part_text,
    part_words,
)
from theanine.types import Message, Metadata, Role, Utterance

ROLES: Mapping[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}


def read_messages(
    messages: Iterable[object],
    speakers: Mapping[Role, str],
    at: datetime,
    metadata: Metadata = MappingProxyType({}),
) -> list[Utterance]:
    """Return the utterances of messages, in order.

    A message becomes several utterances where it has calls of tools or their results besides words,
    and none where it has nothing but reasoning or a recollection.

    Args:
        messages: mappings, objects of the APIs' own clients, or utterances, which stay as they are.
        speakers: the speaker for each role, where a message has no ``name``.
        at: the time of all of them.
        metadata: the application's own data about all of them.

    Raises BadInput for what is no message, with its position.
    """
    utterances: list[Utterance] = []
    for number, message in enumerate(messages, 1):
        if isinstance(message, Utterance):
            utterances.append(replace(message, metadata={**metadata, **message.metadata}))
            continue
        where = f"message {number}"
        fields = as_message(message, where)
        try:
            parts: list[tuple[Role, Message]] = [
                (role, part)
                for role, part in message_parts(fields, where)
                if part_kind(part) != "reasoning" and part_words(part).strip()
            ]
        except BadInput as error:
            raise error if error.where else BadInput(str(error), where) from None
        key = fields.get("id")
        for position, (role, grouped) in enumerate(groupby(parts, _role_of), 1):
            run = [part for _, part in grouped]
            suffix = f"#{position}" if position > 1 else ""
            name = fields.get("name") if ROLES.get(str(fields.get("role"))) == role else None
            is_text = len(run) == 1 and run[0].get("type") in TEXTS
            utterances.append(
                Utterance(
                    text="\n".join(map(part_words, run)),
                    speaker=str(name or speakers[role]),
                    at=at,
                    role=role,
                    key=f"{key}{suffix}" if key else None,
                    content=() if is_text else tuple(run),
                    metadata=metadata,
                )
            )
    return utterances


def _role_of(part: tuple[Role, Message]) -> Role:
    return part[0]


def message_parts(message: Message, where: str) -> Iterator[tuple[Role, Message]]:
    """Yield the parts of a message, or of an item of OpenAI's responses, with their roles.

    Calls of tools and their results have the role ``tool``; reasoning is among the parts, but what
    was recalled for the message is not. Raises BadInput.
    """
    if "role" not in message and isinstance(message.get("type"), str):
        yield "tool", message
        return
    role = ROLES.get(str(message.get("role")))
    if role is None:
        known = ", ".join(ROLES)
        raise BadInput(f"unknown role {message.get('role')!r}; must be one of {known}", where)
    if role == "tool":
        yield role, message
        return
    if role != "assistant" and message.get("content") is None:
        raise BadInput(f"a message of the role {role} needs a content", where)
    for part in content_parts(message.get("content"), f"{where}.content"):
        yield _with_role(role, part)
    if refusal := message.get("refusal"):
        yield role, {"type": "text", "text": str(refusal)}
    for call in message.get("tool_calls") or ():
        fields = as_message(call, f"{where}.tool_calls")
        yield "tool", {**fields, "type": fields.get("type", "function")}
    if call := message.get("function_call"):  # what tool_calls were called before
        yield "tool", {"type": "function", "id": call.get("name"), "function": call}


def _with_role(role: Role, part: Message) -> tuple[Role, Message]:
    """Return a part of a content with its role, without what was recalled."""
    kind, text = part_kind(part), part_text(part)
    if kind in ("call", "result"):
        return "tool", part
    if kind != "text" or text is None:
        return role, part
    if part.get("type") == "refusal":
        return role, {"type": "text", "text": text}
    said = without_remembered(text)
    return role, part if said == text else {**part, "text": said}
