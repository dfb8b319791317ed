"""Scripted answers to TeaFarm's prompts: questions about the newest statements, a word judge."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from theanine.testing.answers.blocks import Write

_NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_PAIR = re.compile(r"^(\d+): .+ asks .+ \(questions: (\d+)\)$", re.MULTILINE)
_LONG_WORD = re.compile(r"\w{4,}")
_SHARE = 0.5
"""Share of the right answer's long words from which a reply is Correct."""


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _question(blocks: Mapping[str, str]) -> str:
    newest = _NUMBERED.findall(blocks.get("statements", ""))[::-1]
    wanted = [
        pair for pair, count in _PAIR.findall(blocks.get("pairs", "")) for _ in range(int(count))
    ]
    questions: list[dict[str, object]] = []
    for place, pair in enumerate(wanted):
        number, text = newest[place % len(newest)]
        questions.append(
            {
                "pair": int(pair),
                "assumes": f"It is not so: {text}",
                "question": f"So you never heard of this? {_gist(text)}",
                "answer": text,
                "evidence": [int(number)],
            }
        )
    return _json({"questions": questions})


def _gist(text: str) -> str:
    return " ".join(_LONG_WORD.findall(text)[:4])


def _session(blocks: Mapping[str, str]) -> str:
    asks, answers = blocks.get("speakers", "A\nB").splitlines()[:2]
    lines = ["Hello again!", "How good to see you.", "How have you been?", "Well, thank you."] * 2
    turns = [
        {"speaker": (asks, answers)[place % 2], "text": text} for place, text in enumerate(lines)
    ]
    return _json({"turns": turns})


def _judge(blocks: Mapping[str, str]) -> str:
    wanted = set(_LONG_WORD.findall(blocks.get("answer", "").casefold()))
    said = set(_LONG_WORD.findall(blocks.get("reply", "").casefold()))
    share = len(wanted & said) / len(wanted) if wanted else 0.0
    verdict = "Correct" if share >= _SHARE else "Incorrect"
    return _json({"reason": f"{share:.0%} of the answer's words are there", "verdict": verdict})


STEPS: Mapping[str, Write] = {
    "teafarm-question": _question,
    "teafarm-session": _session,
    "teafarm-judge": _judge,
}
