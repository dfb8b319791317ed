"""Answers to the running summary's prompts: keep earlier sentences, add the latest turns."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from theanine.testing.answers.blocks import LONGEST, TURN, Write
from theanine.testing.answers.shared import STEPS as SHARED

_SENTENCE = re.compile(r"^S(\d+) ", re.MULTILINE)
_MAX_SENTENCES = 20
_MAX_NEW = 15


def _update_summary(blocks: Mapping[str, str]) -> str:
    new: list[dict[str, Any]] = [
        {"text": f"{speaker}: {words[:LONGEST]}", "turns": [int(number)]}
        for number, speaker, words in TURN.findall(blocks.get("turns", ""))
        if len(words.split()) >= 4
    ][-_MAX_NEW:]
    kept = [{"kept": [int(number)]} for number in _SENTENCE.findall(blocks.get("summary", ""))]
    return json.dumps({"sentences": kept[-(_MAX_SENTENCES - len(new)) :] + new}, ensure_ascii=False)


STEPS: Mapping[str, Write] = {
    "update-summary": _update_summary,
    "respond-few-shot": SHARED["respond"],
}
