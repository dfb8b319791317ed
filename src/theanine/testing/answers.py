"""Sensible, deterministic answers to the prompts of theanine's own steps."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from theanine.models.scripted import task_of

UNKNOWN = "This is a scripted model; it knows only the steps of theanine."
_BLOCK = re.compile(r"^<<<([^\n]*)\n(.*?)\n?^>>>$", re.MULTILINE | re.DOTALL)
_TURN = re.compile(r"^\[(\d+)\] (.+?) \((?:user|agent)[^)]*\): (.*)$", re.MULTILINE)
_PAIR = re.compile(r"^(\d+): M(\d+) N(\d+)$", re.MULTILINE)
_STATEMENT = re.compile(r"^([MN])(\d+) (.*)$", re.MULTILINE)
_ARROW = re.compile(r"^—\w+→ ")
_LONGEST = 300
_CHANGE = {"anymore", "changed", "instead", "longer", "moved", "now", "quit", "stopped"}
_CAUSE = {"because", "since", "therefore"}


def answer(request: Mapping[str, Any]) -> str:
    """A valid answer for any prompt of theanine's, made of the prompt's own words alone.

    Summarize keeps each turn of four words or more; relate tells by shared words and a few cues;
    refine joins the chain; respond repeats what is remembered first.
    """
    users = [m["content"] for m in request.get("messages", ()) if m.get("role") == "user"]
    prompt = users[0] if users and isinstance(users[0], str) else ""
    write = _STEPS.get(task_of(prompt) or "")
    if write is None:
        return UNKNOWN
    return write({name.strip(): text for name, text in _BLOCK.findall(prompt)})


def _summarize(blocks: Mapping[str, str]) -> str:
    statements = [
        {"text": f"{speaker}: {words[:_LONGEST]}", "speakers": [speaker], "turns": [int(number)]}
        for number, speaker, words in _TURN.findall(blocks.get("turns", ""))
        if len(words.split()) >= 4
    ]
    return json.dumps({"statements": statements}, ensure_ascii=False)


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


def _respond(blocks: Mapping[str, str]) -> str:
    remembered = blocks.get("remembered", "").strip().splitlines()
    if not remembered or remembered[0] == "(nothing)":
        return "Tell me more."
    return f"I know: {remembered[0].removeprefix('- ')}"


def _respond_reasoned(blocks: Mapping[str, str]) -> str:
    reasoned = {"rationale": "the first remembered thing applies", "response": _respond(blocks)}
    return json.dumps(reasoned, ensure_ascii=False)


_STEPS: Mapping[str, Callable[[Mapping[str, str]], str]] = {
    "summarize": _summarize,
    "relate": _relate,
    "relate-pair": _relate_pair,
    "refine": _refine,
    "respond": _respond,
    "respond-reasoned": _respond_reasoned,
}
