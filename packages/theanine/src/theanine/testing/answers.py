"""Scripted answers: valid, deterministic replies to each of theanine's prompts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import entry_points
from itertools import takewhile
from typing import Any

from theanine.errors import ModelRejected
from theanine.testing.scripted import task_of

Write = Callable[[Mapping[str, str]], str]
"""Writes the reply to a prompt, given its fenced blocks by name."""

GROUP = "theanine.scripted_answers"
"""Entry-point group for answers to a package's own prompts: a mapping of prompt name to writer."""
UNKNOWN = "This is a scripted model; it knows only the steps of theanine."
LONGEST = 300
"""Maximum characters that an answer repeats of a turn."""
LONGEST_STATE = 60
"""The same of each of two statements in one sentence."""

_BLOCK = re.compile(r"^<<<([^\n]*)\n(.*?)\n?^>>>$", re.MULTILINE | re.DOTALL)
_TURN = re.compile(r"^\[(\d+)\] (.+?) \((?:user|agent)[^)]*\): (.*)$", re.MULTILINE)
NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_PAIR = re.compile(r"^(\d+): M(\d+) N(\d+)$", re.MULTILINE)
_SPEAKERS = re.compile(r"(- )?(.+ is the user\.)?( ?What .+ said, you said\.)?")
"""The line of a recollection that says who speaks in it."""
_LABELED = re.compile(r"^([MN])(\d+) (.*)$", re.MULTILINE)
NOTHING = "(nothing)"


def answer(request: Mapping[str, Any]) -> str:
    """Return a valid answer to any known prompt, made from the text of the prompt.

    For example, ``summarize`` keeps each turn of four words or more, and ``respond`` repeats the
    first recalled statement.

    Raises ModelRejected for a prompt whose first line names a step that is not known, which may be
    a method's own; any other prompt is answered that the model is scripted.
    """
    texts = {"system": [""], "user": [""]}
    for message in request.get("messages", ()):
        if isinstance(message["content"], str):
            texts.setdefault(message["role"], []).append(message["content"])
    if task_of(texts["system"][-1]):  # a chat: what was recalled is in the newest message
        return respond(blocks_of(texts["user"][-1]))
    prompt = texts["user"][:2][-1]
    if (step := task_of(prompt)) is None:
        return UNKNOWN
    if (write := _all_steps().get(step)) is None:
        raise ModelRejected(
            f"there is no scripted answer to the step {step}: give the script one by step, such as "
            f"{{{step!r}: ...}}, or register one as an entry point of {GROUP}"
        )
    return write(blocks_of(prompt))


@cache
def _all_steps() -> Mapping[str, Write]:
    steps = dict(STEPS)
    for point in entry_points(group=GROUP):
        steps.update(point.load())
    return steps


def blocks_of(prompt: str) -> dict[str, str]:
    """Return the text of each fenced block by name."""
    return {name.strip(): text for name, text in _BLOCK.findall(prompt)}


def to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def turns_of(text: str, min_words: int = 4) -> list[tuple[int, str, str]]:
    """Return number, speaker and text of the turns in a block that have ``min_words`` or more."""
    return [
        (int(number), speaker, words)
        for number, speaker, words in _TURN.findall(text)
        if len(words.split()) >= min_words
    ]


def note_of(number: int, speaker: str, words: str) -> dict[str, object]:
    return {"text": f"{speaker}: {words[:LONGEST]}", "turns": [number]}


def judged_pairs(
    blocks: Mapping[str, str], older: str, judge: Callable[[str, str], dict[str, str]]
) -> list[dict[str, object]]:
    """Judge each numbered pair of a statement of the block ``older`` and a new one."""
    lines = _LABELED.findall(f"{blocks.get(older, '')}\n{blocks.get('new', '')}")
    texts = {(kind, number): text for kind, number, text in lines}
    return [
        {"pair": int(pair), **judge(texts.get(("M", m), ""), texts.get(("N", n), ""))}
        for pair, m, n in _PAIR.findall(blocks.get("pairs", ""))
    ]


def _summarize(blocks: Mapping[str, str]) -> str:
    """Keep each turn; a prompt that tells what is known asks for cues instead of speakers."""
    turns = turns_of(blocks.get("turns", ""))
    if "known" in blocks:
        return to_json(
            {"statements": [note_of(*turn) | {"cues": _cues(turn[2])} for turn in turns]}
        )
    statements = [note_of(*turn) | {"speakers": [turn[1]]} for turn in turns]
    return to_json({"statements": statements})


def _cues(words: str) -> str:
    """Return the longest word, in words that are not in the text."""
    return f"about {max(words.split(), key=len).strip('.,:;!?')}"


def respond(blocks: Mapping[str, str]) -> str:
    lines = blocks.get("remembered", "").strip().splitlines()
    remembered = [line for line in lines if not _SPEAKERS.fullmatch(line)]
    if not remembered or remembered[0] == NOTHING:
        return "Tell me more."
    further = takewhile(lambda line: not line.startswith("- "), remembered[1:])
    return " ".join(["I know:", remembered[0].removeprefix("- "), *map(str.strip, further)])


def _respond_reasoned(blocks: Mapping[str, str]) -> str:
    return to_json({"rationale": "the first remembered thing applies", "response": respond(blocks)})


def _relate(older: str, newer: str) -> dict[str, str]:
    words = words_of(newer)
    shared = sorted(word for word in words & words_of(older) if len(word) > 4)
    if not shared:
        return {"explanation": "nothing in common", "relation": "None"}
    relation = "SameTopic"
    if words & {"anymore", "changed", "instead", "longer", "moved", "now", "quit", "stopped"}:
        relation = "Changed"
    elif words & {"because", "since", "therefore"}:
        relation = "Cause"
    return {"explanation": f"both mention {', '.join(shared[:3])}", "relation": relation}


def _relate_session(blocks: Mapping[str, str]) -> str:
    """Link each new statement with the one before it that shares most words, two of them or more.

    Words have five letters or more. With pairs in the prompt, judge these.
    """
    if "pairs" in blocks:  # the prompt that Theanine as published may be asked by
        return to_json({"judgements": judged_pairs(blocks, "earlier", _relate)})
    before = [("M" + n, text) for _, n, text in _LABELED.findall(blocks.get("earlier", ""))]
    links: list[dict[str, str]] = []
    for _, number, text in _LABELED.findall(blocks.get("new", "")):
        words = {word for word in words_of(text) if len(word) > 4}
        label, older = max(
            before, key=lambda each: len(words & words_of(each[1])), default=("", "")
        )
        if len(words & words_of(older)) > 1:
            judged = _relate(older, text)
            link = {"a": label, "b": f"N{number}", "relation": judged["relation"]}
            if link["relation"] != "SameTopic":
                link["why"] = judged["explanation"]
            if link["relation"] == "Changed":
                link["now"] = f"{text[:LONGEST_STATE]} Before: {older[:LONGEST_STATE]}"
            links.append(link)
        before.append((f"N{number}", text))
    return to_json({"links": links})


def _refine(blocks: Mapping[str, str]) -> str:
    steps = [re.sub(r"^—\w+→ ", "", line) for line in blocks.get("chain", "").splitlines()]
    return " Then: ".join(step for step in steps if step.strip()) or "Nothing."


# profiles


def _profile(blocks: Mapping[str, str]) -> str:
    """Repeat the newest twelve passages of three words or more."""
    passages = NUMBERED.findall(blocks.get("words", ""))
    lines = [
        {"area": "about", "text": words[: LONGEST // 2], "passages": [int(number)]}
        for number, words in passages
        if len(words.split()) > 2
    ]
    return to_json({"lines": lines[-12:]})


STEPS: Mapping[str, Write] = {
    "summarize": _summarize,
    "respond": respond,
    "respond-reasoned": _respond_reasoned,
    "relate": _relate_session,
    "relate-pair": lambda blocks: to_json(_relate(blocks.get("A", ""), blocks.get("B", ""))),
    "refine": _refine,
    "profile": _profile,
}
"""The writer of the answer to each prompt of theanine's own, by the prompt's name."""
