"""Messages as what they say, which is the same in each API's format."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from theanine.messages.parts import (
    TEXTS,
    as_json,
    call_arguments,
    image_url,
    is_call,
    is_result,
    part_words,
    read_call,
    read_result,
)
from theanine.types import Message, Role


class WordedPart(NamedTuple):
    """A part that some formats have in words only, such as a file."""

    role: Role
    words: str
    json: str


def comparable_parts(role: Role, text: str, content: Sequence[Message]) -> tuple[Hashable, ...]:
    """Return the parts of a turn, equal to those of the same turn in another format."""
    if content:
        return tuple(_comparable(role, part) for part in content)
    if role == "tool":
        return (_comparable(role, {"role": "tool", "content": text}),)
    return (text_part(role, text),)


def text_part(role: Role, text: str) -> Hashable:
    """Return a text as :func:`comparable_parts` does."""
    return (role, "text", text)


def _comparable(role: Role, part: Message) -> Hashable:
    kind = part.get("type")
    if is_result(part):
        return ("result", *read_result(part))
    if is_call(part):
        id_, name, arguments = read_call(part)
        values = sorted((key, as_json(value)) for key, value in call_arguments(arguments).items())
        return ("call", id_, name, tuple(values))
    if kind in TEXTS or kind == "refusal":
        return text_part(role, part_words(part))
    if url := image_url(part):
        return (role, "image", url)
    return WordedPart(role, part_words(part), as_json(part))
