"""Answers to the prompts of the method ``conditional``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from theanine.testing.answers.blocks import LONGEST, TURN, Write

_FOUND = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_NUMBER = re.compile(r"\d+")
_LONG_WORD = re.compile(r"\w{5,}")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _worth(words: str) -> bool:
    """Whether a turn has four words or more and is no question."""
    return len(words.split()) >= 4 and not words.rstrip().endswith("?")


def _targets(blocks: Mapping[str, str]) -> list[int]:
    return [int(number) for number in _NUMBER.findall(blocks.get("asked", ""))]


def _decide(blocks: Mapping[str, str]) -> str:
    turns = {int(number): words for number, _, words in TURN.findall(blocks.get("turns", ""))}
    return _json({"worth": [n for n in _targets(blocks) if _worth(turns.get(n, ""))]})


def _record(blocks: Mapping[str, str]) -> str:
    turns = {
        int(number): f"{speaker}: {words[:LONGEST]}"
        for number, speaker, words in TURN.findall(blocks.get("turns", ""))
    }
    records = [
        {
            "turn": number,
            "related": [number - 1] if number - 1 in turns else [],
            "context": turns.get(number - 1, turns.get(number, "unknown")),
            "knowledge": turns.get(number, "unknown"),
        }
        for number in _targets(blocks)
    ]
    return _json({"records": records})


def _reflect(blocks: Mapping[str, str]) -> str:
    last = blocks.get("conversation", "").strip().splitlines()[-1:] or [""]
    question = set(_LONG_WORD.findall(last[0].casefold()))
    found = {int(number): text for number, text in _FOUND.findall(blocks.get("found", ""))}
    words = {number: set(_LONG_WORD.findall(text.casefold())) for number, text in found.items()}
    relevant = [number for number, text_words in words.items() if text_words & question]
    missing = sorted(set[str]().union(*words.values()) - question)[:3]
    if relevant or not missing:
        return _json({"enough": True, "relevant": relevant, "keywords": []})
    return _json({"enough": False, "relevant": [], "keywords": missing})


def _reply(blocks: Mapping[str, str]) -> str:
    remembered = blocks.get("remembered", "").strip().splitlines()
    nothing = not remembered or remembered[0] == "(nothing)"
    response = "Tell me more." if nothing else f"I know: {remembered[0].removeprefix('- ')}"
    last = blocks.get("conversation", "").strip().splitlines()[-1:] or [""]
    worth = _worth(last[0].partition(": ")[2])
    return _json({"response": response, "worth": "yes" if worth else "no"})


def _summary(blocks: Mapping[str, str]) -> str:
    turns = [f"{speaker}: {words}" for _, speaker, words in TURN.findall(blocks.get("turns", ""))]
    return " ".join(turns)[:LONGEST] or "Nothing was said."


STEPS: Mapping[str, Write] = {
    "conditional-decide": _decide,
    "conditional-record": _record,
    "conditional-reflect": _reflect,
    "conditional-reply": _reply,
    "conditional-summary": _summary,
}
