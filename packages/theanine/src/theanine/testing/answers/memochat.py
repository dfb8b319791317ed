"""Answers to the prompts of the method ``memochat``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from theanine.testing.answers.blocks import LONGEST, TURN, Write

_MEMO = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_RUN = 4
"""Maximum turns of one memo."""


def _memos(blocks: Mapping[str, str]) -> str:
    """Write a memo of each run of turns of four words or more; shorter turns are small talk."""
    runs: list[list[tuple[int, str, str]]] = []
    for number, speaker, words in TURN.findall(blocks.get("turns", "")):
        if len(words.split()) < 4:
            continue
        turn = (int(number), speaker, words)
        if runs and len(runs[-1]) < _RUN and int(number) <= runs[-1][-1][0] + 1:
            runs[-1].append(turn)
        else:
            runs.append([turn])
    return json.dumps({"memos": [_memo(run) for run in runs]}, ensure_ascii=False)


def _memo(run: list[tuple[int, str, str]]) -> dict[str, object]:
    (first, speaker, words), last = run[0], run[-1][0]
    topic = f"{speaker}, {' '.join(words.split()[:6])}"
    return {"topic": topic[:100], "summary": words[:LONGEST], "first": first, "last": last}


def _pick(blocks: Mapping[str, str]) -> str:
    """Pick the memo that shares most words with the conversation, if any does."""
    conversation = _words(blocks.get("conversation", ""))
    shared = {
        int(number): len(conversation & _words(text))
        for number, text in _MEMO.findall(blocks.get("memos", ""))
    }
    best = max(shared, key=lambda number: shared[number], default=0)
    return json.dumps({"memos": [best] if shared.get(best) else []})


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 3}


STEPS: Mapping[str, Write] = {
    "memos": _memos,
    "pick-memos": _pick,
}
