"""Answers to the prompts of the method ``theanine``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from theanine.testing.answers.blocks import Write

_PAIR = re.compile(r"^(\d+): M(\d+) N(\d+)$", re.MULTILINE)
_STATEMENT = re.compile(r"^([MN])(\d+) (.*)$", re.MULTILINE)
_ARROW = re.compile(r"^—\w+→ ")
_CHANGE = {"anymore", "changed", "instead", "longer", "moved", "now", "quit", "stopped"}
_CAUSE = {"because", "since", "therefore"}


def _relate(blocks: Mapping[str, str]) -> str:
    lines = _STATEMENT.findall(f"{blocks.get('earlier', '')}\n{blocks.get('new', '')}")
    texts = {(kind, number): text for kind, number, text in lines}
    judgements = [
        {"pair": int(pair), **_judge(texts.get(("M", m), ""), texts.get(("N", n), ""))}
        for pair, m, n in _PAIR.findall(blocks.get("pairs", ""))
    ]
    return json.dumps({"judgements": judgements}, ensure_ascii=False)


def _relate_pair(blocks: Mapping[str, str]) -> str:
    return json.dumps(_judge(blocks.get("A", ""), blocks.get("B", "")), ensure_ascii=False)


def _judge(older: str, newer: str) -> dict[str, str]:
    words = set(re.findall(r"\w+", newer.casefold()))
    shared = sorted(w for w in words & set(re.findall(r"\w+", older.casefold())) if len(w) > 4)
    if not shared:
        return {"explanation": "nothing in common", "relation": "None"}
    relation = "Changed" if words & _CHANGE else "Cause" if words & _CAUSE else "SameTopic"
    return {"explanation": f"both mention {', '.join(shared[:3])}", "relation": relation}


def _refine(blocks: Mapping[str, str]) -> str:
    steps = [_ARROW.sub("", line) for line in blocks.get("chain", "").splitlines()]
    return " Then: ".join(step for step in steps if step.strip()) or "Nothing."


STEPS: Mapping[str, Write] = {
    "relate": _relate,
    "relate-pair": _relate_pair,
    "refine": _refine,
}
