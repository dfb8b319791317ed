"""Scripted answers to TeaFarm's prompts: questions about the newest statements, a word judge."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_PAIR = re.compile(r"^(\d+): .+ asks .+ \(questions: (\d+)\)$", re.MULTILINE)
_LONG_WORD = re.compile(r"\w{4,}")
MIN_SHARE = 0.5
"""Minimum share of the right answer's long words in a Correct reply."""
Blocks = Mapping[str, str]


def _questions(blocks: Blocks) -> dict[str, Any]:
    newest = _NUMBERED.findall(blocks["statements"])[::-1]
    pairs = [int(pair) for pair, count in _PAIR.findall(blocks["pairs"]) for _ in range(int(count))]
    questions: list[dict[str, object]] = []
    for index, pair in enumerate(pairs):
        number, text = newest[index % len(newest)]
        gist = " ".join(_LONG_WORD.findall(text)[:4])
        questions.append(
            {
                "pair": pair,
                "assumes": f"It is not so: {text}",
                "question": f"So you never heard of this? {gist}",
                "answer": text,
                "evidence": [int(number)],
            }
        )
    return {"questions": questions}


def _session(blocks: Blocks) -> dict[str, Any]:
    speakers = blocks["speakers"].splitlines()[:2]
    lines = ["Hello again!", "How good to see you.", "How have you been?", "Well, thank you."] * 2
    turns = [{"speaker": speakers[i % 2], "text": text} for i, text in enumerate(lines)]
    return {"turns": turns}


def _judge(blocks: Blocks) -> dict[str, Any]:
    answer, reply = (
        set(_LONG_WORD.findall(blocks[name].casefold())) for name in ("answer", "reply")
    )
    share = len(answer & reply) / len(answer) if answer else 0.0
    verdict = "Correct" if share >= MIN_SHARE else "Incorrect"
    reason = f"{share:.0%} of the answer's words are there"
    return {"reason": reason, "open": not share, "verdict": verdict}


STEPS: Mapping[str, Callable[[Blocks], dict[str, Any]]] = {
    "teafarm-question": _questions,
    "teafarm-session": _session,
    "teafarm-judge": _judge,
}
