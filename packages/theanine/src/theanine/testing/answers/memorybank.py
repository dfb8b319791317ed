"""Answers to the prompts of the method ``memorybank``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from theanine.testing.answers.blocks import LONGEST, TURN, Write

_NOTHING = "(nothing)"
_MAX_ENTRIES = 6
_AGENT_LINE = re.compile(r"^\[\d+\] .+? \(agent[^)]*\): .*$", re.MULTILINE)


def _day(blocks: Mapping[str, str]) -> str:
    turns = blocks.get("turns", "")
    page = {
        "events": _entries(blocks.get("events", ""), turns),
        "traits": _entries(blocks.get("traits", ""), _AGENT_LINE.sub("", turns)),
    }
    return json.dumps(page, ensure_ascii=False)


def _entries(before: str, turns: str) -> Sequence[Mapping[str, object]]:
    """Keep the lines of before, and add turns of five words or more."""
    kept = [line for line in before.splitlines() if line != _NOTHING][:_MAX_ENTRIES]
    long_turns = [turn for turn in TURN.findall(turns) if len(turn[2].split()) >= 5]
    fresh = [
        {"text": f"{speaker}: {words[:LONGEST]}", "turns": [int(number)]}
        for number, speaker, words in long_turns[:_MAX_ENTRIES]
    ]
    return [*({"text": line, "turns": []} for line in kept), *fresh]


def _all(blocks: Mapping[str, str]) -> str:
    """Join the newest lines."""
    lines = [blocks.get("before", ""), *blocks.get("days", "").splitlines()]
    kept = [line for line in lines if line != _NOTHING and not line.startswith("-- ")]
    return " ".join(kept[-_MAX_ENTRIES:])[: 3 * LONGEST] or "Nothing."


STEPS: Mapping[str, Write] = {
    "bank-day": _day,
    "bank-events": _all,
    "bank-portrait": _all,
}
