"""Scripted replies to the prompts of these methods, for ``theanine.testing``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from theanine.testing.answers import (
    LONGEST,
    NOTHING,
    NUMBERED,
    Write,
    judged_pairs,
    note_of,
    respond,
    to_json,
    turns_of,
    words_of,
)

__all__ = ["STEPS"]

_AGENT_TURN = re.compile(r"^\[\d+\] .+? \(agent[^)]*\): .*$", re.MULTILINE)
_SUMMARY_SENTENCE = re.compile(r"^S(\d+) (?:\([^)]*\) )?(.*)$", re.MULTILINE)


# Summaries of all sessions


def _update_summary(blocks: Mapping[str, str]) -> str:
    """Add the latest turns; the oldest sentences make room, 20 in all."""
    new = [note_of(*turn) for turn in turns_of(blocks.get("turns", ""))][-15:]
    earlier = [int(number) for number, _ in _SUMMARY_SENTENCE.findall(blocks.get("summary", ""))]
    left = max(len(earlier) + len(new) - 20, 0)
    return to_json({"sentences": new, "outdated": earlier[:left]})


def _rewrite_summary(blocks: Mapping[str, str]) -> str:
    """Write the latest earlier sentences again, and the latest turns; at most 20 in all."""
    new = [note_of(*turn) for turn in turns_of(blocks.get("turns", ""))][-15:]
    earlier: list[dict[str, object]] = [
        {"text": text, "kept": [int(number)]}
        for number, text in _SUMMARY_SENTENCE.findall(blocks.get("summary", ""))
    ]
    return to_json({"sentences": earlier[len(new) - 20 :] + new})


# secom


def _segment(blocks: Mapping[str, str]) -> str:
    """Return segments of three numbered turns each."""
    numbers = [int(n) for n in re.findall(r"^\[(\d+)\] ", blocks.get("turns", ""), re.MULTILINE)]
    runs = [numbers[i : i + 3] for i in range(0, len(numbers), 3)]
    return to_json({"segments": [{"first": run[0], "last": run[-1]} for run in runs]})


def _segment_reflect(blocks: Mapping[str, str]) -> str:
    """Return a rule with its number, from the first conversation."""
    rules = [line for line in blocks.get("rules", "").splitlines() if line.startswith("Rule ")]
    shown = re.findall(r"^== (\d+)$", blocks.get("conversations", ""), re.MULTILINE)
    return to_json(
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
    old, new = (words_of(re.sub(r"^\([^)]*\) ", "", text)) for text in (older, newer))
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
    for number, text in NUMBERED.findall(blocks.get("groups", "")):
        groups.setdefault(int(number), []).append(text.partition(": ")[2])
    merged = [
        {"group": number, "text": " Since then: ".join(texts)[: 2 * LONGEST]}
        for number, texts in groups.items()
    ]
    return to_json({"merged": merged})


# memorybank


def _bank_day(blocks: Mapping[str, str]) -> str:
    turns = blocks.get("turns", "")
    events = _entries(blocks.get("events", ""), turns)
    traits = _entries(blocks.get("traits", ""), _AGENT_TURN.sub("", turns))
    return to_json({"events": events, "traits": traits})


def _entries(before: str, turns: str) -> Sequence[Mapping[str, object]]:
    """Keep six earlier lines, and add six turns of five words or more."""
    kept = [line for line in before.splitlines() if line != NOTHING][:6]
    new = [note_of(*turn) for turn in turns_of(turns, min_words=5)[:6]]
    return [*({"text": line, "turns": []} for line in kept), *new]


def _bank_all(blocks: Mapping[str, str]) -> str:
    """Join the newest lines."""
    lines = [blocks.get("before", ""), *blocks.get("days", "").splitlines()]
    kept = [line for line in lines if line != NOTHING and not line.startswith("-- ")]
    return " ".join(kept[-6:])[: 3 * LONGEST] or "Nothing."


# conditional


def _is_worth(words: str) -> bool:
    """Whether a turn has four words or more and is no question."""
    return len(words.split()) >= 4 and not words.rstrip().endswith("?")


def _targets(blocks: Mapping[str, str]) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", blocks.get("asked", ""))]


def _decide(blocks: Mapping[str, str]) -> str:
    turns = {number: words for number, _, words in turns_of(blocks.get("turns", ""))}
    return to_json({"worth": [n for n in _targets(blocks) if _is_worth(turns.get(n, ""))]})


def _record(blocks: Mapping[str, str]) -> str:
    """Record each turn with the turn before it as its context."""
    all_turns = turns_of(blocks.get("turns", ""), min_words=0)
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
    return to_json({"records": records})


def _last_line(blocks: Mapping[str, str]) -> str:
    return (blocks.get("conversation", "").strip().splitlines() or [""])[-1]


def _reflect(blocks: Mapping[str, str]) -> str:
    """Find the results relevant that share a word of five letters or more with the last turn."""
    question = {word for word in words_of(_last_line(blocks)) if len(word) > 4}
    words = {
        int(number): {word for word in words_of(text) if len(word) > 4}
        for number, text in NUMBERED.findall(blocks.get("found", ""))
    }
    relevant = [number for number, text_words in words.items() if text_words & question]
    missing = sorted(set[str]().union(*words.values()) - question)[:3]
    if relevant or not missing:
        return to_json({"enough": True, "relevant": relevant, "keywords": []})
    return to_json({"enough": False, "relevant": [], "keywords": missing})


def _reply(blocks: Mapping[str, str]) -> str:
    worth = _is_worth(_last_line(blocks).partition(": ")[2])
    return to_json({"response": respond(blocks), "worth": "yes" if worth else "no"})


def _session_summary(blocks: Mapping[str, str]) -> str:
    all_turns = turns_of(blocks.get("turns", ""), min_words=0)
    turns = [f"{speaker}: {words}" for _, speaker, words in all_turns]
    return " ".join(turns)[:LONGEST] or "Nothing was said."


# memochat


def _memos(blocks: Mapping[str, str]) -> str:
    """Write a memo of each run of up to four turns of four words or more."""
    runs: list[list[tuple[int, str, str]]] = []
    for turn in turns_of(blocks.get("turns", "")):
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
    return to_json({"memos": memos})


def _pick_memos(blocks: Mapping[str, str]) -> str:
    return to_json({"memos": _pick(blocks, "memos")})


def _select_sentences(blocks: Mapping[str, str]) -> str:
    return to_json({"sentences": _pick(blocks, "summary")})


def _pick(blocks: Mapping[str, str], block: str) -> list[int]:
    """Pick the line that shares most words of four letters or more with the conversation."""
    conversation = {word for word in words_of(blocks.get("conversation", "")) if len(word) > 3}
    shared = {
        int(number): len(conversation & words_of(text))
        for number, text in NUMBERED.findall(blocks.get(block, ""))
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
    for turn in turns_of(blocks.get("turns", "")):
        words = words_of(turn[2])
        aspect = "portrait" if words & _PORTRAIT else "events"
        notes["relation" if words & _RELATION else aspect].append(note_of(*turn))
    return to_json(notes)


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
    return to_json({aspect: _sentences(latest) for aspect, latest in notes.items()})


def _sentences(notes: list[tuple[int, str]]) -> list[dict[str, object]]:
    kept: list[tuple[int, str]] = []
    for number, text in notes:
        if kept and sum(len(other) for _, other in kept) + len(text) > LONGEST:
            break
        kept.append((number, text[:LONGEST]))
    text = "; ".join(note for _, note in kept)
    return [{"text": text, "notes": [number for number, _ in kept]}] if kept else []


STEPS: Mapping[str, Write] = {
    "update-summary": _update_summary,
    "rewrite-summary": _rewrite_summary,
    "respond-few-shot": respond,
    "segment": _segment,
    "segment-guided": _segment,
    "segment-reflect": _segment_reflect,
    "update-memories": lambda blocks: to_json(
        {"decisions": judged_pairs(blocks, "kept", _decide_pair)}
    ),
    "update-memory-pair": lambda blocks: to_json(
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
"""Step name → writer of its reply; found through the group `theanine.scripted_answers`."""
