"""Answers to the steps of the method ``conditional``."""

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
    """What is no question and has four words or more."""
    return len(words.split()) >= 4 and not words.rstrip().endswith("?")


def _asked(blocks: Mapping[str, str]) -> list[int]:
    return [int(number) for number in _NUMBER.findall(blocks.get("asked", ""))]


def _decide(blocks: Mapping[str, str]) -> str:
    said = {int(number): words for number, _, words in TURN.findall(blocks.get("turns", ""))}
    return _json({"worth": [n for n in _asked(blocks) if _worth(said.get(n, ""))]})


def _record(blocks: Mapping[str, str]) -> str:
    found = TURN.findall(blocks.get("turns", ""))
    said = {int(number): f"{speaker}: {words[:LONGEST]}" for number, speaker, words in found}
    records = [
        {
            "turn": number,
            "related": [number - 1] if number - 1 in said else [],
            "context": said.get(number - 1, said.get(number, "unknown")),
            "knowledge": said.get(number, "unknown"),
        }
        for number in _asked(blocks)
    ]
    return _json({"records": records})


def _reflect(blocks: Mapping[str, str]) -> str:
    last = blocks.get("conversation", "").strip().splitlines()[-1:] or [""]
    asked = set(_LONG_WORD.findall(last[0].casefold()))
    found = {int(number): text for number, text in _FOUND.findall(blocks.get("found", ""))}
    words = {number: set(_LONG_WORD.findall(text.casefold())) for number, text in found.items()}
    relevant = [number for number, known in words.items() if known & asked]
    missing = sorted(set[str]().union(*words.values()) - asked)[:3]
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
    said = [f"{speaker}: {words}" for _, speaker, words in TURN.findall(blocks.get("turns", ""))]
    return " ".join(said)[:LONGEST] or "Nothing was said."


STEPS: Mapping[str, Write] = {
    "conditional-decide": _decide,
    "conditional-record": _record,
    "conditional-reflect": _reflect,
    "conditional-reply": _reply,
    "conditional-summary": _summary,
}
