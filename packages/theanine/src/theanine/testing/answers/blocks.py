"""Reading a prompt of theanine's: its fenced blocks, and the turns in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Write = Callable[[Mapping[str, str]], str]
"""Makes a reply of a prompt's blocks."""

_BLOCK = re.compile(r"^<<<([^\n]*)\n(.*?)\n?^>>>$", re.MULTILINE | re.DOTALL)
TURN = re.compile(r"^\[(\d+)\] (.+?) \((?:user|agent)[^)]*\): (.*)$", re.MULTILINE)
"""A numbered turn: number, speaker, words."""

LONGEST = 300
"""Characters that an answer repeats of a turn."""


def blocks_of(prompt: str) -> dict[str, str]:
    """The text of each fenced block, by its name."""
    return {name.strip(): text for name, text in _BLOCK.findall(prompt)}
