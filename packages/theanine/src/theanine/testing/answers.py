"""Scripted answers: valid, deterministic replies to each of theanine's prompts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
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
_AGENT_TURN = re.compile(r"^\[\d+\] .+? \(agent[^)]*\): .*$", re.MULTILINE)
_NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_PAIR = re.compile(r"^(\d+): M(\d+) N(\d+)$", re.MULTILINE)
_SPEAKERS = re.compile(r"(- )?(.+ is the user\.)?( ?What .+ said, you said\.)?")
"""The line of a recollection that says who speaks in it."""
_SUMMARY_SENTENCE = re.compile(r"^S(\d+) (?:\([^)]*\) )?(.*)$", re.MULTILINE)
_LABELED = re.compile(r"^([MN])(\d+) (.*)$", re.MULTILINE)
_NOTHING = "(nothing)"


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
        return _respond(blocks_of(texts["user"][-1]))
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


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _turns(text: str, min_words: int = 4) -> list[tuple[int, str, str]]:
    """Return number, speaker and text of the turns in a block that have ``min_words`` or more."""
    return [
        (int(number), speaker, words)
        for number, speaker, words in _TURN.findall(text)
        if len(words.split()) >= min_words
    ]


def _note(number: int, speaker: str, words: str) -> dict[str, object]:
    return {"text": f"{speaker}: {words[:LONGEST]}", "turns": [number]}


def _pairs(
    blocks: Mapping[str, str], older: str, judge: Callable[[str, str], dict[str, str]]
) -> list[dict[str, object]]:
    """Judge each numbered pair of a statement of the block ``older`` and a new one."""
    lines = _LABELED.findall(f"{blocks.get(older, '')}\n{blocks.get('new', '')}")
    texts = {(kind, number): text for kind, number, text in lines}
    return [
        {"pair": int(pair), **judge(texts.get(("M", m), ""), texts.get(("N", n), ""))}
        for pair, m, n in _PAIR.findall(blocks.get("pairs", ""))
    ]


# Steps that several methods share


def _summarize(blocks: Mapping[str, str]) -> str:
    """Keep each turn; a prompt that tells what is known asks for cues instead of speakers."""
    turns = _turns(blocks.get("turns", ""))
    if "known" in blocks:
        return _json({"statements": [_note(*turn) | {"cues": _cues(turn[2])} for turn in turns]})
    statements = [_note(*turn) | {"speakers": [turn[1]]} for turn in turns]
    return _json({"statements": statements})


def _cues(words: str) -> str:
    """Return the longest word, in words that are not in the text."""
    return f"about {max(words.split(), key=len).strip('.,:;!?')}"


def _update_summary(blocks: Mapping[str, str]) -> str:
    """Add the latest turns; the oldest sentences make room, 20 in all."""
    new = [_note(*turn) for turn in _turns(blocks.get("turns", ""))][-15:]
    earlier = [int(number) for number, _ in _SUMMARY_SENTENCE.findall(blocks.get("summary", ""))]
    left = max(len(earlier) + len(new) - 20, 0)
    return _json({"sentences": new, "outdated": earlier[:left]})


def _rewrite_summary(blocks: Mapping[str, str]) -> str:
    """Write the latest earlier sentences again, and the latest turns; at most 20 in all."""
    new = [_note(*turn) for turn in _turns(blocks.get("turns", ""))][-15:]
    earlier: list[dict[str, object]] = [
        {"text": text, "kept": [int(number)]}
        for number, text in _SUMMARY_SENTENCE.findall(blocks.get("summary", ""))
    ]
    return _json({"sentences": earlier[len(new) - 20 :] + new})


def _respond(blocks: Mapping[str, str]) -> str:
    lines = blocks.get("remembered", "").strip().splitlines()
    remembered = [line for line in lines if not _SPEAKERS.fullmatch(line)]
    if not remembered or remembered[0] == _NOTHING:
        return "Tell me more."
    further = takewhile(lambda line: not line.startswith("- "), remembered[1:])
    return " ".join(["I know:", remembered[0].removeprefix("- "), *map(str.strip, further)])


def _respond_reasoned(blocks: Mapping[str, str]) -> str:
    return _json({"rationale": "the first remembered thing applies", "response": _respond(blocks)})


# theanine


def _relate(older: str, newer: str) -> dict[str, str]:
    words = _words(newer)
    shared = sorted(word for word in words & _words(older) if len(word) > 4)
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
        return _json({"judgements": _pairs(blocks, "earlier", _relate)})
    before = [("M" + n, text) for _, n, text in _LABELED.findall(blocks.get("earlier", ""))]
    links: list[dict[str, str]] = []
    for _, number, text in _LABELED.findall(blocks.get("new", "")):
        words = {word for word in _words(text) if len(word) > 4}
        label, older = max(before, key=lambda each: len(words & _words(each[1])), default=("", ""))
        if len(words & _words(older)) > 1:
            judged = _relate(older, text)
            link = {"a": label, "b": f"N{number}", "relation": judged["relation"]}
            if link["relation"] != "SameTopic":
                link["why"] = judged["explanation"]
            if link["relation"] == "Changed":
                link["now"] = f"{text[:LONGEST_STATE]} Before: {older[:LONGEST_STATE]}"
            links.append(link)
        before.append((f"N{number}", text))
    return _json({"links": links})


def _refine(blocks: Mapping[str, str]) -> str:
    steps = [re.sub(r"^—\w+→ ", "", line) for line in blocks.get("chain", "").splitlines()]
    return " Then: ".join(step for step in steps if step.strip()) or "Nothing."


# secom


def _segment(blocks: Mapping[str, str]) -> str:
    """Return segments of three numbered turns each."""
    numbers = [int(n) for n in re.findall(r"^\[(\d+)\] ", blocks.get("turns", ""), re.MULTILINE)]
    runs = [numbers[i : i + 3] for i in range(0, len(numbers), 3)]
    return _json({"segments": [{"first": run[0], "last": run[-1]} for run in runs]})


def _segment_reflect(blocks: Mapping[str, str]) -> str:
    """Return a rule with its number, from the first conversation."""
    rules = [line for line in blocks.get("rules", "").splitlines() if line.startswith("Rule ")]
    shown = re.findall(r"^== (\d+)$", blocks.get("conversations", ""), re.MULTILINE)
    return _json(
        {
            "errors": "The segments were drawn without regard to what is said.",
            "rule": f"Mind what is said, for reason {len(rules) + 1}.",
            "example": int(shown[0]) if shown else 1,
            "lesson": "A question about something else begins a segment.",
        }
    )


# memory-update


def _decide_pair(older: str, newer: str) -> dict[str, str]:
    """Decide by the shared words of five letters or more, and by cue words."""
    old, new = (_words(re.sub(r"^\([^)]*\) ", "", text)) for text in (older, newer))
    shared = sorted(word for word in old & new if len(word) > 4)
    if not shared:
        return {"explanation": "nothing in common", "operation": "Append"}
    if new & {"finished", "over", "recovered", "settled", "solved"}:
        operation = "Delete"
    elif new & {"anymore", "changed", "instead", "longer", "moved", "quit", "stopped"}:
        operation = "Change"
    else:
        operation = "Pass" if new <= old else "Replace" if old <= new else "Append"
    return {"explanation": f"both mention {', '.join(shared[:3])}", "operation": operation}


def _merge(blocks: Mapping[str, str]) -> str:
    groups: dict[int, list[str]] = {}
    for number, text in _NUMBERED.findall(blocks.get("groups", "")):
        groups.setdefault(int(number), []).append(text.partition(": ")[2])
    merged = [
        {"group": number, "text": " Since then: ".join(texts)[: 2 * LONGEST]}
        for number, texts in groups.items()
    ]
    return _json({"merged": merged})


# memorybank


def _bank_day(blocks: Mapping[str, str]) -> str:
    turns = blocks.get("turns", "")
    events = _entries(blocks.get("events", ""), turns)
    traits = _entries(blocks.get("traits", ""), _AGENT_TURN.sub("", turns))
    return _json({"events": events, "traits": traits})


def _entries(before: str, turns: str) -> Sequence[Mapping[str, object]]:
    """Keep six earlier lines, and add six turns of five words or more."""
    kept = [line for line in before.splitlines() if line != _NOTHING][:6]
    new = [_note(*turn) for turn in _turns(turns, min_words=5)[:6]]
    return [*({"text": line, "turns": []} for line in kept), *new]


def _bank_all(blocks: Mapping[str, str]) -> str:
    """Join the newest lines."""
    lines = [blocks.get("before", ""), *blocks.get("days", "").splitlines()]
    kept = [line for line in lines if line != _NOTHING and not line.startswith("-- ")]
    return " ".join(kept[-6:])[: 3 * LONGEST] or "Nothing."


# conditional


def _is_worth(words: str) -> bool:
    """Whether a turn has four words or more and is no question."""
    return len(words.split()) >= 4 and not words.rstrip().endswith("?")


def _targets(blocks: Mapping[str, str]) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", blocks.get("asked", ""))]


def _decide(blocks: Mapping[str, str]) -> str:
    turns = {number: words for number, _, words in _turns(blocks.get("turns", ""))}
    return _json({"worth": [n for n in _targets(blocks) if _is_worth(turns.get(n, ""))]})


def _record(blocks: Mapping[str, str]) -> str:
    """Record each turn with the turn before it as its context."""
    all_turns = _turns(blocks.get("turns", ""), min_words=0)
    turns = {number: f"{speaker}: {words[:LONGEST]}" for number, speaker, words in all_turns}
    records = [
        {
            "turn": number,
            "related": [number - 1] if number - 1 in turns else [],
            "context": turns.get(number - 1, turns.get(number, "unknown")),
            "knowledge": turns.get(number, "unknown"),
        }
        for number in _targets(blocks)
    ]
    return _json({"records": records})


def _last_line(blocks: Mapping[str, str]) -> str:
    return (blocks.get("conversation", "").strip().splitlines() or [""])[-1]


def _reflect(blocks: Mapping[str, str]) -> str:
    """Find the results relevant that share a word of five letters or more with the last turn."""
    question = {word for word in _words(_last_line(blocks)) if len(word) > 4}
    words = {
        int(number): {word for word in _words(text) if len(word) > 4}
        for number, text in _NUMBERED.findall(blocks.get("found", ""))
    }
    relevant = [number for number, text_words in words.items() if text_words & question]
    missing = sorted(set[str]().union(*words.values()) - question)[:3]
    if relevant or not missing:
        return _json({"enough": True, "relevant": relevant, "keywords": []})
    return _json({"enough": False, "relevant": [], "keywords": missing})


def _reply(blocks: Mapping[str, str]) -> str:
    worth = _is_worth(_last_line(blocks).partition(": ")[2])
    return _json({"response": _respond(blocks), "worth": "yes" if worth else "no"})


def _session_summary(blocks: Mapping[str, str]) -> str:
    all_turns = _turns(blocks.get("turns", ""), min_words=0)
    turns = [f"{speaker}: {words}" for _, speaker, words in all_turns]
    return " ".join(turns)[:LONGEST] or "Nothing was said."


# memochat


def _memos(blocks: Mapping[str, str]) -> str:
    """Write a memo of each run of up to four turns of four words or more."""
    runs: list[list[tuple[int, str, str]]] = []
    for turn in _turns(blocks.get("turns", "")):
        if runs and len(runs[-1]) < 4 and turn[0] <= runs[-1][-1][0] + 1:
            runs[-1].append(turn)
        else:
            runs.append([turn])
    memos: list[dict[str, object]] = []
    for run in runs:
        first, speaker, words = run[0]
        topic = f"{speaker}, {' '.join(words.split()[:6])}"[:100]
        last = run[-1][0]
        memos.append({"topic": topic, "summary": words[:LONGEST], "first": first, "last": last})
    return _json({"memos": memos})


def _pick_memos(blocks: Mapping[str, str]) -> str:
    return _json({"memos": _pick(blocks, "memos")})


def _select_sentences(blocks: Mapping[str, str]) -> str:
    return _json({"sentences": _pick(blocks, "summary")})


def _pick(blocks: Mapping[str, str], block: str) -> list[int]:
    """Pick the line that shares most words of four letters or more with the conversation."""
    conversation = {word for word in _words(blocks.get("conversation", "")) if len(word) > 3}
    shared = {
        int(number): len(conversation & _words(text))
        for number, text in _NUMBERED.findall(blocks.get(block, ""))
    }
    best = max(shared, key=lambda number: shared[number], default=0)
    return [best] if shared.get(best) else []


# comedy

_ASPECTS = ("events", "portrait", "relation")
_PORTRAIT = {"allergic", "always", "favourite", "hate", "live", "love", "name", "terrified", "work"}
_RELATION = {"promise", "remind", "thank", "thanks", "you"}


def _session_memory(blocks: Mapping[str, str]) -> str:
    """Note each turn of four words or more, under an aspect chosen by cue words."""
    notes: dict[str, list[dict[str, object]]] = {aspect: [] for aspect in _ASPECTS}
    for turn in _turns(blocks.get("turns", "")):
        words = _words(turn[2])
        aspect = "portrait" if words & _PORTRAIT else "events"
        notes["relation" if words & _RELATION else aspect].append(_note(*turn))
    return _json(notes)


def _compress(blocks: Mapping[str, str]) -> str:
    """Write one sentence for each part: as many notes as fit, latest first."""
    notes: dict[str, list[tuple[int, str]]] = {aspect: [] for aspect in _ASPECTS}
    aspect = _ASPECTS[0]
    lines = re.findall(r"^(?:-- (\w+)|\[(\d+)\] (.*))$", blocks.get("notes", ""), re.MULTILINE)
    for heading, number, text in lines:
        if heading:
            aspect = heading
        else:
            notes[aspect].insert(0, (int(number), text))
    return _json({aspect: _sentences(latest) for aspect, latest in notes.items()})


def _sentences(notes: list[tuple[int, str]]) -> list[dict[str, object]]:
    kept: list[tuple[int, str]] = []
    for number, text in notes:
        if kept and sum(len(other) for _, other in kept) + len(text) > LONGEST:
            break
        kept.append((number, text[:LONGEST]))
    text = "; ".join(note for _, note in kept)
    return [{"text": text, "notes": [number for number, _ in kept]}] if kept else []


STEPS: Mapping[str, Write] = {
    "summarize": _summarize,
    "update-summary": _update_summary,
    "rewrite-summary": _rewrite_summary,
    "respond": _respond,
    "respond-few-shot": _respond,
    "respond-reasoned": _respond_reasoned,
    "relate": _relate_session,
    "relate-pair": lambda blocks: _json(_relate(blocks.get("A", ""), blocks.get("B", ""))),
    "refine": _refine,
    "segment": _segment,
    "segment-guided": _segment,
    "segment-reflect": _segment_reflect,
    "update-memories": lambda blocks: _json({"decisions": _pairs(blocks, "kept", _decide_pair)}),
    "update-memory-pair": lambda blocks: _json(
        _decide_pair(blocks.get("M", ""), blocks.get("N", ""))
    ),
    "merge-memories": _merge,
    "bank-day": _bank_day,
    "bank-events": _bank_all,
    "bank-portrait": _bank_all,
    "conditional-decide": _decide,
    "conditional-record": _record,
    "conditional-reflect": _reflect,
    "conditional-reply": _reply,
    "conditional-summary": _session_summary,
    "memos": _memos,
    "pick-memos": _pick_memos,
    "select-sentences": _select_sentences,
    "session-memory": _session_memory,
    "compress": _compress,
}
"""The writer of the answer to each prompt, by the prompt's name."""
