"""Parse a prompt: its fenced blocks, and the turns in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Write = Callable[[Mapping[str, str]], str]
"""Writes the reply to a prompt, given its blocks by name."""

_BLOCK = re.compile(r"^<<<([^\n]*)\n(.*?)\n?^>>>$", re.MULTILINE | re.DOTALL)
TURN = re.compile(r"^\[(\d+)\] (.+?) \((?:user|agent)[^)]*\): (.*)$", re.MULTILINE)
"""A numbered turn: number, speaker, text."""

LONGEST = 300
"""Maximum characters that an answer repeats of a turn."""


def blocks_of(prompt: str) -> dict[str, str]:
    """Return the text of each fenced block by name."""
    return {name.strip(): text for name, text in _BLOCK.findall(prompt)}
