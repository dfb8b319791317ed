"""The content of a message to or from a language model: its text, and what was shared with it.

The parts are read by :mod:`theanine.messages`; pictures, files and recordings become words on what
was shared, and thoughts, tool calls and their results are left out and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from theanine.importers.schema import require_storable
from theanine.messages.parts import (
    PartKind,
    content_parts,
    part_kind,
    part_name,
    part_text,
    part_transcript,
)
from theanine.types import Message

_SHARED: Mapping[PartKind, str] = MappingProxyType(
    {"image": "a picture", "file": "a file", "audio": "a recording"}
)
TOOLS = "tool calls and results left out"
THOUGHTS = "thoughts left out"
_LEFT_OUT: Mapping[PartKind, str] = MappingProxyType(
    {"reasoning": THOUGHTS, "call": TOOLS, "result": TOOLS}
)


def read_content(content: object, where: str, notes: Counter[str]) -> tuple[str, str]:
    """Return the text of a message's content, and what was shared with it in words.

    Raises:
        BadInput: it is neither a text nor a list of parts, or can't be stored.
    """
    return describe_parts(content_parts(content, where), where, notes)


def describe_parts(parts: Iterable[Message], where: str, notes: Counter[str]) -> tuple[str, str]:
    """Return the text of a message's parts, and what was shared with it in words.

    Raises BadInput for what can't be stored.
    """
    texts: list[str] = []
    shared: list[str] = []
    for part in parts:
        kind, text = part_kind(part), part_text(part)
        if kind in _SHARED:
            shared.append(_describe(part, _SHARED[kind]))
        elif kind == "text" and text is not None:
            texts.append(text)
        else:
            notes[_LEFT_OUT.get(kind, "parts that are not text left out")] += 1
    text = "\n".join(text for text in texts if text.strip())
    return require_storable(text, where), require_storable(", ".join(shared), where)


def _describe(part: Message, what: str) -> str:
    """Return what was shared, with the name of a file if it has one; a transcript is quoted."""
    if transcript := part_transcript(part):
        return f'{what} that says "{transcript}"'
    name = part_name(part)
    return f'the file "{name}"' if name else what
