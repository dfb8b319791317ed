"""What is stored for a framework, in words that recall finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

_UNSTORABLE = str.maketrans({"\0": " ", **{chr(code): "\ufffd" for code in range(0xD800, 0xE000)}})


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
    added = [line.translate(_UNSTORABLE) for line in lines if line not in known]
    return added if any(line.strip() for line in added) else []
