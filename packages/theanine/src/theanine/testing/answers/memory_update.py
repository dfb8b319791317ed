"""Answers to the prompts of the method ``memory-update``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from theanine.testing.answers.blocks import LONGEST, Write

_PAIR = re.compile(r"^(\d+): M(\d+) N(\d+)$", re.MULTILINE)
_STATEMENT = re.compile(r"^([MN])(\d+) (.*)$", re.MULTILINE)
_GROUP = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_CHANGE = {"anymore", "changed", "instead", "longer", "moved", "quit", "stopped"}
_END = {"finished", "over", "recovered", "settled", "solved"}


def _update(blocks: Mapping[str, str]) -> str:
    lines = _STATEMENT.findall(f"{blocks.get('kept', '')}\n{blocks.get('new', '')}")
    texts = {(kind, number): text for kind, number, text in lines}
    decisions = [
        {"pair": int(pair), **_decide(texts.get(("M", m), ""), texts.get(("N", n), ""))}
        for pair, m, n in _PAIR.findall(blocks.get("pairs", ""))
    ]
    return json.dumps({"decisions": decisions}, ensure_ascii=False)


def _update_pair(blocks: Mapping[str, str]) -> str:
    return json.dumps(_decide(blocks.get("M", ""), blocks.get("N", "")), ensure_ascii=False)


def _decide(older: str, newer: str) -> dict[str, str]:
    """Decide by the shared words of five letters or more, and by cue words."""
    old, new = _words(older), _words(newer)
    shared = sorted(word for word in old & new if len(word) > 4)
    if not shared:
        return {"explanation": "nothing in common", "operation": "Append"}
    if new & _END:
        operation = "Delete"
    elif new & _CHANGE:
        operation = "Change"
    else:
        operation = "Pass" if new <= old else "Replace" if old <= new else "Append"
    return {"explanation": f"both mention {', '.join(shared[:3])}", "operation": operation}


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", re.sub(r"^\([^)]*\) ", "", text).casefold()))


def _merge(blocks: Mapping[str, str]) -> str:
    groups: dict[int, list[str]] = {}
    for number, text in _GROUP.findall(blocks.get("groups", "")):
        groups.setdefault(int(number), []).append(text.partition(": ")[2])
    merged = [
        {"group": number, "text": " Since then: ".join(texts)[: 2 * LONGEST]}
        for number, texts in groups.items()
    ]
    return json.dumps({"merged": merged}, ensure_ascii=False)


STEPS: Mapping[str, Write] = {
    "update-memories": _update,
    "update-memory-pair": _update_pair,
    "merge-memories": _merge,
}
