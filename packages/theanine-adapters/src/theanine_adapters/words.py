"""What is stored for a framework, in words that recall finds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from theanine.errors import BadInput
from theanine.messages.parts import as_message, part_kind, part_words
from theanine.messages.read import message_parts
from theanine.tokenizer import sanitize
from theanine.types import Message


def json_lines(value: Mapping[str, Any]) -> list[str]:
    """Return the texts and numbers of a JSON object, each a line with its field's name.

    A text that is the only one needs no name.
    """
    named = [*_leaves(value, "")]
    texts = [str(leaf) for _, leaf in named]
    lines = texts if len(named) == 1 else [f"{name}: {leaf}" for name, leaf in named]
    return [line for text in lines for line in text.split("\n") if line.strip()]


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in cast("Mapping[str, Any]", value).items():
            yield from _leaves(inner, key)
    elif isinstance(value, (list, tuple)):
        for inner in cast("Sequence[Any]", value):
            yield from _leaves(inner, name)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield name, value


def new_lines(before: Iterable[str], lines: Sequence[str]) -> list[str]:
    """Return the lines that were not there before, as they can be stored in a log."""
    known = set(before)
    added = (sanitize(line) for line in lines if line not in known)
    return [line for line in added if line.strip()]


def item_message(item: Any) -> Message:
    """Return a framework's message as one turn's, which holds it as it is besides its words.

    Raises BadInput for what JSON can't hold.
    """
    item = as_message(item, "the item")
    return entry_message(item, item)


def entry_message(entry: Message, said: object) -> Message:
    """Return an entry as one turn's message, which holds it as it is besides the words ``said``.

    What is none of the user's, the assistant's or the system's words is the tool's. Raises BadInput
    for what JSON can't hold.
    """
    check_json(entry, "the item")
    try:
        parts = [*message_parts(as_message(said, "the item"), "the item")]
    except BadInput:  # of a kind that is no message
        parts = []
    parts = [(role, part) for role, part in parts if part_kind(part) != "reasoning"]
    parts = [(role, part) for role, part in parts if role != "tool"] or parts
    words = "\n".join(filter(str.strip, (part_words(part) for _, part in parts)))
    words = sanitize(words)
    role = parts[0][0] if words else "tool"
    if role != "tool":
        return {"role": role, "content": [{"type": "item", "text": words, "value": entry}]}
    return {"role": "tool", "content": words or f"[{entry.get('type', 'item')}]", "value": entry}


def check_json(value: Any, what: str) -> None:
    """Raise BadInput, which names what it is, for a value that JSON can't hold."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BadInput(f"{what} can't be stored as JSON: {error}") from None
