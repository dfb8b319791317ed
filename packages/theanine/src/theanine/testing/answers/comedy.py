"""Answers to the steps of the method ``comedy``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from theanine.testing.answers.blocks import LONGEST, TURN, Write

_ASPECTS = ("events", "portrait", "relation")
_LINE = re.compile(r"^(?:-- (\w+)|\[(\d+)\] (.*))$", re.MULTILINE)
_PORTRAIT = {"allergic", "always", "favourite", "hate", "live", "love", "name", "terrified", "work"}
_RELATION = {"promise", "remind", "thank", "thanks", "you"}


def _session_memory(blocks: Mapping[str, str]) -> str:
    """A note of each turn of four words or more, sorted by a few words."""
    notes: dict[str, list[dict[str, object]]] = {aspect: [] for aspect in _ASPECTS}
    for number, speaker, words in TURN.findall(blocks.get("turns", "")):
        said = set(re.findall(r"\w+", words.casefold()))
        if len(words.split()) >= 4:
            aspect = (
                "relation" if said & _RELATION else "portrait" if said & _PORTRAIT else "events"
            )
            note: dict[str, object] = {
                "text": f"{speaker}: {words[:LONGEST]}",
                "turns": [int(number)],
            }
            notes[aspect].append(note)
    return json.dumps(notes, ensure_ascii=False)


def _compress(blocks: Mapping[str, str]) -> str:
    """One sentence a part: its notes, the latest first, as many as it can hold."""
    notes: dict[str, list[tuple[int, str]]] = {aspect: [] for aspect in _ASPECTS}
    aspect = _ASPECTS[0]
    for heading, number, text in _LINE.findall(blocks.get("notes", "")):
        if heading:
            aspect = heading
        else:
            notes[aspect].insert(0, (int(number), text))
    parts = {one: _sentence(found) for one, found in notes.items()}
    return json.dumps(parts, ensure_ascii=False)


def _sentence(notes: list[tuple[int, str]]) -> list[dict[str, object]]:
    held: list[tuple[int, str]] = []
    for number, text in notes:
        if held and sum(len(one) for _, one in held) + len(text) > LONGEST:
            break
        held.append((number, text[:LONGEST]))
    if not held:
        return []
    text = "; ".join(one for _, one in held)
    return [{"text": text, "notes": [number for number, _ in held]}]


STEPS: Mapping[str, Write] = {
    "session-memory": _session_memory,
    "compress": _compress,
}
