"""Messages as utterances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from types import MappingProxyType

from theanine.errors import BadInput
from theanine.fences import without_remembered
from theanine.messages.parts import TEXTS, as_message, content_parts, is_call, is_result, part_words
from theanine.types import Message, Metadata, Role, Utterance

_ROLES: Mapping[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_REASONING = frozenset({"thinking", "redacted_thinking", "reasoning"})


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
            parts = [part for part in _parts(fields, where) if part_words(part[1]).strip()]
        except BadInput as error:
            raise error if error.where else BadInput(str(error), where) from None
        key = fields.get("id")
        for position, (role, grouped) in enumerate(groupby(parts, _role_of), 1):
            run = [part for _, part in grouped]
            suffix = f"#{position}" if position > 1 else ""
            name = fields.get("name") if _ROLES.get(str(fields.get("role"))) == role else None
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


def _parts(message: Message, where: str) -> Iterator[tuple[Role, Message]]:
    """Yield the parts of a message, or of an item of OpenAI's responses, with their roles."""
    if "role" not in message and isinstance(message.get("type"), str):
        if message["type"] not in _REASONING:
            yield ("tool", message)
        return
    role = _ROLES.get(str(message.get("role")))
    if role is None:
        known = ", ".join(_ROLES)
        raise BadInput(f"unknown role {message.get('role')!r}; must be one of {known}", where)
    if role == "tool":
        yield role, message
        return
    for part in content_parts(message.get("content"), where):
        yield from _content_part(role, part)
    if refusal := message.get("refusal"):
        yield role, {"type": "text", "text": str(refusal)}
    for call in message.get("tool_calls") or ():
        yield "tool", as_message(call, f"{where}, tool_calls")
    if call := message.get("function_call"):  # what tool_calls were called before
        yield "tool", {"type": "function", "id": call.get("name"), "function": call}


def _content_part(role: Role, part: Message) -> Iterator[tuple[Role, Message]]:
    kind = part.get("type")
    if is_call(part) or is_result(part):
        yield "tool", part
    elif kind in TEXTS:
        said = without_remembered(part_words(part))
        yield role, part if said == part["text"] else {**part, "text": said}
    elif kind == "refusal":
        yield role, {"type": "text", "text": part_words(part)}
    elif kind not in _REASONING:
        yield role, part
