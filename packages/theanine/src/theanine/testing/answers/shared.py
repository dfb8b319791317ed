"""Answers to the prompts that several methods share."""

from __future__ import annotations

import json
from collections.abc import Mapping

from theanine.testing.answers.blocks import LONGEST, TURN, Write


def _summarize(blocks: Mapping[str, str]) -> str:
    statements = [
        {"text": f"{speaker}: {words[:LONGEST]}", "speakers": [speaker], "turns": [int(number)]}
        for number, speaker, words in TURN.findall(blocks.get("turns", ""))
        if len(words.split()) >= 4
    ]
    return json.dumps({"statements": statements}, ensure_ascii=False)


def _respond(blocks: Mapping[str, str]) -> str:
    remembered = blocks.get("remembered", "").strip().splitlines()
    if not remembered or remembered[0] == "(nothing)":
        return "Tell me more."
    return f"I know: {remembered[0].removeprefix('- ')}"


def _respond_reasoned(blocks: Mapping[str, str]) -> str:
    reasoned = {"rationale": "the first remembered thing applies", "response": _respond(blocks)}
    return json.dumps(reasoned, ensure_ascii=False)


STEPS: Mapping[str, Write] = {
    "summarize": _summarize,
    "respond": _respond,
    "respond-reasoned": _respond_reasoned,
}
