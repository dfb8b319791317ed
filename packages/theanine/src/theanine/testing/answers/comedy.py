"""Answers to the prompts of the method ``comedy``."""

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
    """Note each turn of four words or more, under an aspect chosen by cue words."""
    notes: dict[str, list[dict[str, object]]] = {aspect: [] for aspect in _ASPECTS}
    for number, speaker, words in TURN.findall(blocks.get("turns", "")):
        vocabulary = set(re.findall(r"\w+", words.casefold()))
        if len(words.split()) >= 4:
            aspect = (
                "relation"
                if vocabulary & _RELATION
                else "portrait"
                if vocabulary & _PORTRAIT
                else "events"
            )
            note: dict[str, object] = {
                "text": f"{speaker}: {words[:LONGEST]}",
                "turns": [int(number)],
            }
            notes[aspect].append(note)
    return json.dumps(notes, ensure_ascii=False)


def _compress(blocks: Mapping[str, str]) -> str:
    """Write one sentence for each part: as many notes as fit, latest first."""
    notes: dict[str, list[tuple[int, str]]] = {aspect: [] for aspect in _ASPECTS}
    aspect = _ASPECTS[0]
    for heading, number, text in _LINE.findall(blocks.get("notes", "")):
        if heading:
            aspect = heading
        else:
            notes[aspect].insert(0, (int(number), text))
    parts = {aspect: _sentence(of_aspect) for aspect, of_aspect in notes.items()}
    return json.dumps(parts, ensure_ascii=False)


def _sentence(notes: list[tuple[int, str]]) -> list[dict[str, object]]:
    kept: list[tuple[int, str]] = []
    for number, text in notes:
        if kept and sum(len(other) for _, other in kept) + len(text) > LONGEST:
            break
        kept.append((number, text[:LONGEST]))
    if not kept:
        return []
    text = "; ".join(note for _, note in kept)
    return [{"text": text, "notes": [number for number, _ in kept]}]


STEPS: Mapping[str, Write] = {
    "session-memory": _session_memory,
    "compress": _compress,
}
